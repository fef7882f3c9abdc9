import Synchronization

/// Objects by address: an open-addressing table that is read without a lock.
///
/// Written under one lock; a table that is too full is replaced by its owner, and the owner sees to
/// it that nobody reads a table which has been released. A place whose object has gone keeps its key,
/// so that a search goes on past it.
///
/// Invariant: at least one place is unused, so that every search ends. The table owns its objects.
@safe final class AddressTable<Object: AnyObject>: @unchecked Sendable {
  private struct Place: ~Copyable {
    let key = Atomic<UInt>(0)
    let object = Atomic<UInt>(0)
  }

  let created: UInt64
  private let places: UnsafeMutablePointer<Place>
  private let mask: Int
  /// Protected by the registry's lock.
  private var usedCount = 0
  private(set) var liveCount = 0

  init(capacity: Int, created: UInt64) {
    self.created = created
    let size = 1 << (Int.bitWidth - (capacity - 1).leadingZeroBitCount)
    mask = size - 1
    unsafe places = .allocate(capacity: size)
    for index in 0..<size { unsafe (places + index).initialize(to: Place()) }
  }

  deinit {
    for object in objects { unsafe Unmanaged.passUnretained(object).release() }
    unsafe places.deinitialize(count: mask + 1)
    unsafe places.deallocate()
  }

  @inline(__always)
  private func firstPlace(of key: UInt) -> Int {
    // Objects are 16 bytes apart at least; the multiplier spreads the rest.
    Int(truncatingIfNeeded: ((key >> 4) &* 0x9E37_79B9_7F4A_7C15) >> 20) & mask
  }

  /// The place of `key`, or the unused one where it would stand.
  private func place(of key: UInt) -> Int {
    var index = firstPlace(of: key)
    while true {
      // SAFETY: `index` is masked to the size of the table.
      let found = unsafe places[index].key.load(ordering: .acquiring)
      if found == key || found == 0 { return index }
      index = (index + 1) & mask
    }
  }

  /// The object of `key`.
  ///
  /// A place gets its object before its key: who finds the key finds the object.
  @inline(__always)
  func object(for key: UInt) -> Unmanaged<Object>? {
    var index = firstPlace(of: key)
    while true {
      // SAFETY: as above.
      let found = unsafe places[index].key.load(ordering: .acquiring)
      if found == key { break }
      if found == 0 { return nil }
      index = (index + 1) & mask
    }
    // SAFETY: as above. Sequentially consistent: a post's half of the pair with a removal.
    let address = unsafe places[index].object.load(ordering: .sequentiallyConsistent)
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
    return unsafe Unmanaged.fromOpaque(pointer)
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
