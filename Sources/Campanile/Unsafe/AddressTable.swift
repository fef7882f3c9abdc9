import Synchronization

/// The head of a table's memory; the places follow.
///
/// Readers point to this head and not to the `AddressTable`, which saves a look-up one load.
@safe private struct AddressTableHead: ~Copyable {
  fileprivate let mask: Int
  fileprivate let table: Unmanaged<AnyObject>

  @inline(__always)
  fileprivate func firstPlace(of key: UInt) -> Int {
    // Objects are 16 bytes apart at least; the multiplier spreads the rest.
    Int(truncatingIfNeeded: ((key >> 4) &* 0x9E37_79B9_7F4A_7C15) >> 20) & mask
  }
}

/// One place of a table: a key and its object, or 0 twice.
private struct AddressTablePlace: ~Copyable {
  fileprivate let key = Atomic<UInt>(0)
  fileprivate let object = Atomic<UInt>(0)
}

extension UnsafeMutablePointer<AddressTableHead> {
  @inline(__always)
  fileprivate var places: UnsafeMutablePointer<AddressTablePlace> {
    // SAFETY: the table allocated its places behind the head, which is as long as a place.
    unsafe UnsafeMutableRawPointer(self + 1).assumingMemoryBound(to: AddressTablePlace.self)
  }

  /// The address of the object of `key`, which is not 0.
  ///
  /// A place gets its object before its key, so a reader that finds the key also finds the object.
  ///
  /// The loads up to the key are sequentially consistent, because a post looks here before it announces
  /// itself. An acquiring load may be carried out before an earlier store of this thread. Another thread
  /// that has registered, and then does not see that store, could conclude that the post comes later.
  @inline(__always)
  func object(for key: UInt) -> UnsafeRawPointer? {
    let places = unsafe places
    var index = unsafe pointee.firstPlace(of: key)
    while true {
      // SAFETY: `index` is masked to the size of the table.
      // Pairs with `insert`: after this thread's earlier stores.
      let found = unsafe places[index].key.load(ordering: .sequentiallyConsistent)
      if found == key { break }
      if found == 0 { return nil }
      index = unsafe (index &+ 1) & pointee.mask
    }
    // SAFETY: as above.
    // Pairs with `insert`: stored before the key.
    return unsafe UnsafeRawPointer(bitPattern: places[index].object.load(ordering: .acquiring))
  }
}

/// Objects by address, read without a lock; they stay as long as the map does.
///
/// A map that is too full continues with a larger table. The earlier tables stay, because a reader
/// may have found one of them. Together they are smaller than the newest table.
@safe struct AddressMap<Object: AnyObject & Sendable>: ~Copyable, @unchecked Sendable {
  /// The address of the head of the newest table, which keeps those before it.
  private let newest: Atomic<UInt>

  init(capacity: Int) {
    let first = AddressTable<Object>(capacity: capacity)
    newest = Atomic(UInt(bitPattern: unsafe first.head))
    _ = unsafe Unmanaged.passRetained(first)
  }

  deinit { unsafe Unmanaged.passUnretained(table).release() }

  @inline(__always)
  private var head: UnsafeMutablePointer<AddressTableHead> {
    // SAFETY: there is a table from the beginning, and every table lives as long as this.
    // Pairs with `insert`: after this thread's earlier stores, and the table is filled.
    unsafe UnsafeMutablePointer(
      bitPattern: newest.load(ordering: .sequentiallyConsistent)
    ).unsafelyUnwrapped
  }

  private var table: AddressTable<Object> {
    // SAFETY: the head was made by a table of these objects.
    unsafe unsafeDowncast(head.pointee.table.takeUnretainedValue(), to: AddressTable<Object>.self)
  }

  /// The object of `key`, which is not 0.
  @inline(__always)
  func object(for key: UInt) -> Unmanaged<Object>? {
    guard let address = unsafe head.object(for: key) else { return nil }
    return unsafe Unmanaged.fromOpaque(address)
  }

  /// Puts in an object of a key that has none and is not 0.
  ///
  /// - Parameter held: The lock that all who write hold.
  func insert<State: ~Copyable>(
    _ key: UInt, _ object: Object, _ held: borrowing Locked<State>.Held
  ) {
    let old = table
    if old.insert(key, object) { return }
    let new = AddressTable(replacing: old)
    let isInserted = new.insert(key, object)
    assert(isInserted)
    _ = unsafe Unmanaged.passRetained(new)
    // Pairs with `head`: after the table is filled.
    newest.store(UInt(bitPattern: unsafe new.head), ordering: .sequentiallyConsistent)
    // The new table keeps it, so that this release cannot be the last.
    unsafe Unmanaged.passUnretained(old).release()
  }

  /// Every object.
  ///
  /// - Parameter held: The same lock.
  func objects<State: ~Copyable>(_ held: borrowing Locked<State>.Held) -> [Object] {
    table.objects
  }
}

/// The memory of a map: an open-addressing table.
///
/// Invariant: at least one place is unused, so that every search ends. The table owns its objects.
@safe private final class AddressTable<Object: AnyObject & Sendable>: @unchecked Sendable {
  let head: UnsafeMutablePointer<AddressTableHead>
  private let places: UnsafeMutablePointer<AddressTablePlace>
  private let mask: Int
  /// Protected by the lock of those who write.
  private var usedCount = 0
  /// The table that this one replaced.
  private let previous: AddressTable?

  /// A table with the objects of the one before it, and room for twice as many more.
  convenience init(replacing previous: AddressTable) {
    self.init(capacity: (previous.usedCount + 1) * 4, previous: previous)
    for index in 0...previous.mask {
      // SAFETY: `index` is within the table, whose objects live as long as it does.
      // No pair: under the lock of those who write.
      let key = unsafe previous.places[index].key.load(ordering: .relaxed)
      guard key != 0, let object = unsafe previous.head.object(for: key) else { continue }
      _ = unsafe insert(key, Unmanaged<Object>.fromOpaque(object).takeUnretainedValue())
    }
  }

  init(capacity: Int, previous: AddressTable? = nil) {
    self.previous = previous
    let size = 1 << (Int.bitWidth - (capacity - 1).leadingZeroBitCount)
    mask = size - 1
    let byteCount =
      MemoryLayout<AddressTableHead>.stride + size * MemoryLayout<AddressTablePlace>.stride
    let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
    unsafe head = memory.bindMemory(to: AddressTableHead.self, capacity: 1)
    unsafe places = head.places
    unsafe head.initialize(
      to: AddressTableHead(mask: mask, table: Unmanaged.passUnretained(self)))
    for index in 0..<size { unsafe (places + index).initialize(to: AddressTablePlace()) }
  }

  deinit {
    for object in objects { unsafe Unmanaged.passUnretained(object).release() }
    unsafe places.deinitialize(count: mask + 1)
    unsafe head.deinitialize(count: 1)
    unsafe UnsafeMutableRawPointer(head).deallocate()
  }

  private func unusedPlace(for key: UInt) -> Int {
    var index = unsafe head.pointee.firstPlace(of: key)
    // SAFETY: `index` is masked to the size of the table.
    // No pair: under the lock of those who write.
    while unsafe places[index].key.load(ordering: .relaxed) != 0 { index = (index + 1) & mask }
    return index
  }

  /// Puts in an object of a key that has none, unless the table is too full.
  func insert(_ key: UInt, _ object: Object) -> Bool {
    if (usedCount + 1) * 4 > (mask + 1) * 3 { return false }
    let index = unusedPlace(for: key)
    let address = unsafe UInt(bitPattern: Unmanaged.passRetained(object).toOpaque())
    // Pairs with `object`: before the key.
    unsafe places[index].object.store(address, ordering: .releasing)
    // Pairs with `object`: last, so that who finds the key finds the object.
    unsafe places[index].key.store(key, ordering: .sequentiallyConsistent)
    usedCount += 1
    return true
  }

  var objects: [Object] {
    (0...mask).compactMap { index in
      // Pairs with `insert`.
      let address = unsafe places[index].object.load(ordering: .acquiring)
      guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
      return unsafe Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
    }
  }
}
