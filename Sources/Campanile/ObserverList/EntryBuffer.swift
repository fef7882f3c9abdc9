import Synchronization

/// One place in a list: a registration's identifier, and its observer until it ends.
struct Entry: ~Copyable {
  let id: Atomic<UInt64>
  /// The address of the observer, or 0 once the registration has ended.
  let observer: Atomic<UInt>
}

/// What the memory of a buffer begins with; the entries follow.
///
/// A list points to this and not to the `EntryBuffer`: a post comes to the entries with one load less.
@safe struct EntryBufferHead: ~Copyable {
  fileprivate let published = Atomic<Int>(0)
  fileprivate let buffer: Unmanaged<EntryBuffer>

  /// How many entries a post that looks now may read.
  @inline(__always)
  var count: Int { published.load(ordering: .sequentiallyConsistent) }
}

extension UnsafeMutablePointer<EntryBufferHead> {
  @inline(__always)
  var entries: UnsafeMutablePointer<Entry> {
    // SAFETY: the buffer allocated its entries behind the head, which is as long as an entry.
    unsafe UnsafeMutableRawPointer(self + 1).assumingMemoryBound(to: Entry.self)
  }

  /// The object that owns the memory.
  @inline(__always)
  var buffer: EntryBuffer { unsafe pointee.buffer.takeUnretainedValue() }
}

/// The memory of a list: entries in registration order, identifiers ascending.
///
/// Written under the registry's lock, read by posts without it.
///
/// Invariant: the entries below `count` are initialized and their identifiers ascend. An entry is
/// overwritten only when no post in progress may touch an identifier as great as the one it held, so
/// a post that still sees the old `count` stops there on the identifier alone.
///
/// The buffer does not own the observers; the list does.
@safe final class EntryBuffer: @unchecked Sendable {
  let capacity: Int
  /// The clock's time when this buffer was made; a post with a lower mark does not hold it.
  let created: UInt64
  let head: UnsafeMutablePointer<EntryBufferHead>
  private let base: UnsafeMutablePointer<Entry>

  init(capacity: Int, created: UInt64) {
    self.capacity = capacity
    self.created = created
    let size = MemoryLayout<EntryBufferHead>.stride + capacity * MemoryLayout<Entry>.stride
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    unsafe head = memory.bindMemory(to: EntryBufferHead.self, capacity: 1)
    unsafe base = head.entries
    unsafe head.initialize(to: EntryBufferHead(buffer: Unmanaged.passUnretained(self)))
    for index in 0..<capacity {
      unsafe (base + index).initialize(to: Entry(id: Atomic(0), observer: Atomic(0)))
    }
  }

  deinit {
    unsafe base.deinitialize(count: capacity)
    unsafe head.deinitialize(count: 1)
    unsafe UnsafeMutableRawPointer(head).deallocate()
  }

  /// How many entries a post that looks now may read.
  var count: Int { unsafe head.pointee.count }

  @inline(__always)
  func id(at index: Int) -> UInt64 {
    // SAFETY: `index` is below `count`, hence below `capacity`.
    unsafe base[index].id.load(ordering: .acquiring)
  }

  @inline(__always)
  func address(at index: Int) -> UInt {
    // SAFETY: as above. Sequentially consistent: a post's half of the pair with `take`.
    unsafe base[index].observer.load(ordering: .sequentiallyConsistent)
  }

  // MARK: Under the registry's lock

  func append(id: UInt64, address: UInt) {
    let index = unsafe head.pointee.published.load(ordering: .relaxed)
    assert(index < capacity && (index == 0 || self.id(at: index - 1) < id))
    // The observer first: whoever reads the new identifier reads the new observer.
    unsafe base[index].observer.store(address, ordering: .releasing)
    unsafe base[index].id.store(id, ordering: .releasing)
    unsafe head.pointee.published.store(index + 1, ordering: .releasing)
  }

  /// The place of `id`, if the registration has not ended.
  func index(of id: UInt64) -> Int? {
    var low = 0
    var high = count
    // Most registrations that end are young: look at the last place first.
    if high > 0, self.id(at: high - 1) == id { low = high - 1 }
    while low < high {
      let middle = (low + high) / 2
      if self.id(at: middle) < id { low = middle + 1 } else { high = middle }
    }
    guard low < count, self.id(at: low) == id, address(at: low) != 0 else { return nil }
    return low
  }

  /// Empties a place and returns the address of the observer that was there.
  func take(at index: Int) -> UInt {
    unsafe base[index].observer.exchange(0, ordering: .sequentiallyConsistent)
  }

  /// Withdraws the empty places at the end from posts that announce themselves later.
  ///
  /// - Returns: the count before, for `restore`, which is to follow after the frames were read.
  func withdraw() -> Int {
    let before = count
    var end = before
    while end > 0, address(at: end - 1) == 0 { end -= 1 }
    unsafe head.pointee.published.store(end, ordering: .sequentiallyConsistent)
    return before
  }

  /// Gives those withdrawn places out again that a post with `mark` may still be reading.
  ///
  /// The others may be overwritten: a post that has read the old count stops there on the
  /// identifier, the old or the new.
  func restore(_ before: Int, upTo mark: UInt64) {
    let withdrawn = count
    var end = before
    while end > withdrawn, id(at: end - 1) > mark { end -= 1 }
    unsafe head.pointee.published.store(end, ordering: .sequentiallyConsistent)
  }

  func checkInvariants() {
    #if DEBUG
      for index in 1..<max(1, count) {
        assert(id(at: index - 1) < id(at: index), "The identifiers of a list ascend")
      }
    #endif
  }
}
