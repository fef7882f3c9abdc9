import Synchronization

/// One place in a list: a registration's identifier, and its observer until it ends.
struct Entry: ~Copyable {
  let id: Atomic<UInt64>
  /// The address of the observer, or 0 once the registration has ended: a tombstone.
  let observer: Atomic<UInt>
}

/// The owner of the memory of a list.
///
/// It does not own the observers; the list does.
@safe final class EntryBuffer: Sendable {
  let entries: Entries

  init(capacity: Int, created: UInt64) {
    entries = Entries(capacity: capacity, created: created)
    entries.bind(to: self)
  }

  deinit { entries.deallocate() }
}

/// The memory of a list: entries in registration order, identifiers ascending.
///
/// Posts read it without a lock. This value is the address of the memory, which a post copies
/// without counting a reference. `buffer` owns the memory.
///
/// Invariant: the entries below `count` are initialized and their identifiers ascend. An entry is
/// overwritten only when no post in progress may touch an identifier as great as the old one. So a
/// post that still sees the old `count` stops there because of the identifier.
@safe struct Entries: @unchecked Sendable {
  /// The head of the memory; the entries follow.
  @safe private struct Head: ~Copyable {
    let published = Atomic<Int>(0)
    let capacity: Int
    let created: UInt64
    var buffer: Unmanaged<EntryBuffer>?
  }

  private let head: UnsafeMutablePointer<Head>

  fileprivate init(capacity: Int, created: UInt64) {
    let size = MemoryLayout<Head>.stride + capacity * MemoryLayout<Entry>.stride
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    unsafe head = memory.bindMemory(to: Head.self, capacity: 1)
    unsafe head.initialize(to: Head(capacity: capacity, created: created, buffer: nil))
    for index in 0..<capacity {
      unsafe (base + index).initialize(to: Entry(id: Atomic(0), observer: Atomic(0)))
    }
  }

  fileprivate func bind(to buffer: EntryBuffer) {
    unsafe head.pointee.buffer = Unmanaged.passUnretained(buffer)
  }

  fileprivate func deallocate() {
    unsafe base.deinitialize(count: capacity)
    unsafe head.deinitialize(count: 1)
    unsafe UnsafeMutableRawPointer(head).deallocate()
  }

  /// The memory at an address, if that is not 0.
  @inline(__always)
  init?(at address: UInt) {
    // SAFETY: the address is one that `address` gave, of a buffer that the caller keeps from going.
    guard let head = unsafe UnsafeMutablePointer<Head>(bitPattern: address) else { return nil }
    unsafe self.head = head
  }

  /// The number that names this memory in an atomic word.
  var address: UInt { UInt(bitPattern: unsafe head) }

  /// The first entry.
  @inline(__always)
  var base: UnsafeMutablePointer<Entry> {
    // SAFETY: entries were allocated behind the head, whose stride is a multiple of theirs.
    unsafe UnsafeMutableRawPointer(head + 1).assumingMemoryBound(to: Entry.self)
  }

  /// The owner of this memory.
  var buffer: EntryBuffer { unsafe head.pointee.buffer.unsafelyUnwrapped.takeUnretainedValue() }

  var capacity: Int { unsafe head.pointee.capacity }

  /// The clock's time when this memory was made; a post with a lower upper bound does not hold it.
  var created: UInt64 { unsafe head.pointee.created }

  /// How many entries a post that looks now may read.
  @inline(__always)
  var count: Int {
    // Pairs with `append`: the entries below the count are in place; and with `withdraw`.
    unsafe head.pointee.published.load(ordering: .acquiring)
  }

  @inline(__always)
  func id(at index: Int) -> UInt64 {
    // SAFETY: `index` is below `count`, hence below `capacity`.
    // Pairs with `append`: the observer is in place.
    unsafe base[index].id.load(ordering: .acquiring)
  }

  @inline(__always)
  func observer(at index: Int) -> UInt {
    // SAFETY: as above.
    // Pairs with `append` and `take`: the observer, or the tombstone.
    unsafe base[index].observer.load(ordering: .acquiring)
  }
}

/// What changes the entries.
extension Entries {
  func append(id: UInt64, observer: UInt, _ held: borrowing ObserverRegistry.Held) {
    // No pair: the lock orders all stores of the count.
    let index = unsafe head.pointee.published.load(ordering: .relaxed)
    assert(index < capacity && (index == 0 || self.id(at: index - 1) < id))
    // Pairs with `takeAddress`: first, so that who reads the identifier reads this observer.
    unsafe base[index].observer.store(observer, ordering: .releasing)
    // Pairs with `nextID`: before the count, so that who reads the count reads this identifier.
    unsafe base[index].id.store(id, ordering: .releasing)
    // Pairs with `count`: last of all, and before the clock shows the identifier.
    unsafe head.pointee.published.store(index + 1, ordering: .releasing)
  }

  /// The place of `id`, if the registration has not ended.
  ///
  /// A post that has announced itself may call it without the lock. What is written meanwhile is
  /// beyond the identifiers that the post may look for.
  func index(of id: UInt64) -> Int? {
    let count = count
    // Most registrations that end are young: look at the last place first.
    var low = count - 1
    if low < 0 { return nil }
    if self.id(at: low) != id {
      var high = low
      low = 0
      while low < high {
        let middle = (low &+ high) / 2
        if self.id(at: middle) < id { low = middle &+ 1 } else { high = middle }
      }
      if self.id(at: low) != id { return nil }
    }
    return observer(at: low) == 0 ? nil : low
  }

  /// Leaves a tombstone, before the reservations are read, and returns the observer that was there.
  func take(at index: Int, _ held: borrowing ObserverRegistry.Held) -> UInt {
    let observer = observer(at: index)
    // Pairs with `takeAddress`: before `storeClockAgain`, so that a post the scan misses reads 0.
    unsafe base[index].observer.store(0, ordering: .releasing)
    return observer
  }

  /// Withdraws the empty places at the end from posts that announce themselves later.
  ///
  /// - Returns: The previous count, for `restore`, which must follow after the reservations have
  ///   been read.
  func withdraw(_ held: borrowing ObserverRegistry.Held) -> Int {
    let before = count
    var end = before
    while end > 0, observer(at: end - 1) == 0 { end -= 1 }
    // Pairs with `count`: before `storeClockAgain`, so that a post the scan misses reads this
    // count.
    if end < before { unsafe head.pointee.published.store(end, ordering: .releasing) }
    return before
  }

  /// Restores the withdrawn places that a post with `upper` may still be reading.
  ///
  /// The others may be overwritten: a post that has read the old count stops there on the
  /// identifier, the old or the new.
  func restore(
    _ before: Int, upTo upper: UInt64, _ held: borrowing ObserverRegistry.Held
  ) {
    let withdrawn = count
    var end = before
    while end > withdrawn, id(at: end - 1) > upper { end -= 1 }
    // Pairs with `count`: a post that reads the old one stops at its watermark instead.
    unsafe head.pointee.published.store(end, ordering: .releasing)
  }

  func checkInvariants() {
    #if DEBUG
      for index in 1..<max(1, count) {
        assert(id(at: index - 1) < id(at: index), "The identifiers of a list ascend")
      }
    #endif
  }
}
