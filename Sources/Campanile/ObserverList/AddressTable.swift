import Synchronization

/// What the memory of a table begins with; the places follow.
///
/// Whoever reads a table without a lock points to this and not to the `AddressTable`: a look-up comes
/// to the places with one load less.
@safe struct AddressTableHead: ~Copyable {
  fileprivate let mask: Int
  fileprivate let table: Unmanaged<AnyObject>

  @inline(__always)
  fileprivate func firstPlace(of key: UInt) -> Int {
    // Objects are 16 bytes apart at least; the multiplier spreads the rest.
    Int(truncatingIfNeeded: ((key >> 4) &* 0x9E37_79B9_7F4A_7C15) >> 20) & mask
  }
}

/// One place of a table: a key, and its object or 0.
struct AddressTablePlace: ~Copyable {
  fileprivate let key = Atomic<UInt>(0)
  fileprivate let object = Atomic<UInt>(0)
}

extension UnsafeMutablePointer<AddressTableHead> {
  @inline(__always)
  fileprivate var places: UnsafeMutablePointer<AddressTablePlace> {
    // SAFETY: the table allocated its places behind the head, which is as long as a place.
    unsafe UnsafeMutableRawPointer(self + 1).assumingMemoryBound(to: AddressTablePlace.self)
  }

  /// The address of the object of `key`.
  ///
  /// A place gets its object before its key: who finds the key finds the object.
  @inline(__always)
  func object(for key: UInt) -> UnsafeRawPointer? {
    let places = unsafe places
    var index = unsafe pointee.firstPlace(of: key)
    while true {
      // SAFETY: `index` is masked to the size of the table.
      let found = unsafe places[index].key.load(ordering: .acquiring)
      if found == key { break }
      if found == 0 { return nil }
      index = unsafe (index &+ 1) & pointee.mask
    }
    // SAFETY: as above. Sequentially consistent: a post's half of the pair with a removal.
    return unsafe UnsafeRawPointer(
      bitPattern: places[index].object.load(ordering: .sequentiallyConsistent))
  }

  /// The object that owns the memory, a table of `Object`.
  func table<Object>(of type: Object.Type) -> AddressTable<Object> {
    // SAFETY: the head was made by such a table.
    unsafe unsafeDowncast(pointee.table.takeUnretainedValue(), to: AddressTable<Object>.self)
  }
}

/// Objects by address: an open-addressing table that is read without a lock.
///
/// Written under one lock; a table that is too full is replaced by its owner, and the owner sees to
/// it that nobody reads a table which has been released. A place whose object has gone keeps its key,
/// so that a search goes on past it.
///
/// Invariant: at least one place is unused, so that every search ends. The table owns its objects.
@safe final class AddressTable<Object: AnyObject>: @unchecked Sendable {
  let created: UInt64
  let head: UnsafeMutablePointer<AddressTableHead>
  private let places: UnsafeMutablePointer<AddressTablePlace>
  private let mask: Int
  /// Protected by the registry's lock.
  private var usedCount = 0
  private(set) var liveCount = 0
  /// The table that this one replaces, if that is to live as long.
  private let previous: AddressTable?

  init(capacity: Int, created: UInt64, previous: AddressTable? = nil) {
    self.created = created
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

  /// The place of `key`, or the unused one where it would stand.
  private func place(of key: UInt) -> Int {
    var index = unsafe head.pointee.firstPlace(of: key)
    while true {
      // SAFETY: `index` is masked to the size of the table.
      let found = unsafe places[index].key.load(ordering: .acquiring)
      if found == key || found == 0 { return index }
      index = (index + 1) & mask
    }
  }

  /// The object of `key`.
  func object(for key: UInt) -> Unmanaged<Object>? {
    unsafe head.object(for: key).map { unsafe Unmanaged.fromOpaque($0) }
  }

  /// Puts an object in, unless the table is too full.
  func insert(_ key: UInt, _ object: Object) -> Bool {
    let index = place(of: key)
    let isNew = unsafe places[index].key.load(ordering: .relaxed) == 0
    if isNew && (usedCount + 1) * 4 > (mask + 1) * 3 { return false }
    let address = unsafe UInt(bitPattern: Unmanaged.passRetained(object).toOpaque())
    unsafe places[index].object.store(address, ordering: .sequentiallyConsistent)
    if isNew {
      unsafe places[index].key.store(key, ordering: .releasing)
      usedCount += 1
    }
    liveCount += 1
    return true
  }

  func remove(_ key: UInt) {
    let address = unsafe places[place(of: key)].object.exchange(
      0, ordering: .sequentiallyConsistent)
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return }
    // The caller holds the object too, so that this release cannot be the last.
    unsafe Unmanaged<Object>.fromOpaque(pointer).release()
    liveCount -= 1
  }

  var objects: [Object] {
    (0...mask).compactMap { index in
      let address = unsafe places[index].object.load(ordering: .acquiring)
      guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
      return unsafe Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
    }
  }
}
