import Synchronization

/// One entry of a list or table.
struct Entry: ~Copyable {
  /// The identifier of a registration, or the key of an object.
  let number = Atomic<UInt64>(0)
  /// The address of the observer, or 0 once the registration has ended: a tombstone.
  ///
  /// In a table, the address of the object.
  let address = Atomic<UInt>(0)
}

/// One block of atomic words, which posts read without a lock: the memory of a list or of a table.
///
/// This value is the address of the memory, which a post copies without counting a reference. The
/// code that allocates the block deallocates it, or leaves that to its `owner`.
@safe struct Entries: @unchecked Sendable {
  /// The head of the memory; the entries follow.
  @safe private struct Head: ~Copyable {
    let published = Atomic<Int>(0)
    /// Where the longest run of tombstones that was found in a list begins, and where it ends;
    /// used under the lock alone.
    let tombstonesFrom = Atomic<UInt32>(0)
    let tombstonesTo = Atomic<UInt32>(0)
    let capacity: Int
    let created: UInt64
  }

  /// Memory for one entry, as a part of a list, with which it is released.
  struct Inline: ~Copyable {
    private let head = Head(capacity: 1, created: 0)
    private let entry = Entry()
  }

  private let head: UnsafeMutablePointer<Head>

  /// The memory within a list.
  init(_ inline: borrowing Inline) {
    // SAFETY: the list is an object, which does not move, and the entry follows the head.
    unsafe head = withUnsafePointer(to: inline) {
      unsafe UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: Head.self)
    }
  }

  init(capacity: Int, created: UInt64) {
    let size = MemoryLayout<Head>.stride + capacity * MemoryLayout<Entry>.stride
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
    unsafe head = memory.bindMemory(to: Head.self, capacity: 1)
    unsafe head.initialize(to: Head(capacity: capacity, created: created))
    for index in 0..<capacity { unsafe (base + index).initialize(to: Entry()) }
  }

  /// Deallocates the memory, which no other thread reads any more.
  func deallocate() {
    unsafe base.deinitialize(count: capacity)
    unsafe head.deinitialize(count: 1)
    unsafe UnsafeMutableRawPointer(head).deallocate()
  }

  /// An object that ends the memory, which was replaced, when it is released.
  var owner: Owner { Owner(entries: self) }

  final class Owner: Retirable {
    let entries: Entries
    var created: UInt64 { entries.created }
    fileprivate init(entries: Entries) { self.entries = entries }
    deinit { entries.deallocate() }
  }

  /// The memory at an address, if that is not 0.
  init?(at address: UInt) {
    // SAFETY: the address is one that `address` gave, of memory that the caller keeps from going.
    guard let head = unsafe UnsafeMutablePointer<Head>(bitPattern: address) else { return nil }
    unsafe self.head = head
  }

  /// The number that names this memory in an atomic word.
  var address: UInt { UInt(bitPattern: unsafe head) }

  /// The first entry.
  var base: UnsafeMutablePointer<Entry> {
    // SAFETY: entries were allocated behind the head, whose stride is a multiple of their alignment.
    unsafe UnsafeMutableRawPointer(head + 1).assumingMemoryBound(to: Entry.self)
  }

  var capacity: Int { unsafe head.pointee.capacity }

  /// The clock's time when this memory was made; a post with a lower upper bound does not hold it.
  var created: UInt64 { unsafe head.pointee.created }

  /// How many entries a post that looks now may read; in a table, how many have been used.
  var count: Int {
    // Pairs with `publish`: the entries below the count are in place, or hidden.
    unsafe head.pointee.published.load(ordering: .acquiring)
  }

  func publish(_ count: Int) {
    // Pairs with `count`: last of all, and before the clock shows the identifier. One that is lower
    // is stored before `storeClockAgain`, so that a post the scan misses reads it.
    unsafe head.pointee.published.store(count, ordering: .releasing)
  }

  func number(at index: Int) -> UInt64 {
    // SAFETY: `index` is below `capacity`. A post reads only below `count`.
    // Pairs with `append`: the observer is in place.
    unsafe base[index].number.load(ordering: .acquiring)
  }

  func address(at index: Int) -> UInt {
    // SAFETY: as above.
    // Pairs with `append`, `unlink` and `insert`: the observer, the tombstone, or the object.
    unsafe base[index].address.load(ordering: .acquiring)
  }
}

/// The changes to the memory of a list: entries in registration order, identifiers ascending.
///
/// Invariant: the entries below `count` are initialized and their identifiers ascend. An entry is
/// overwritten only when no post in progress may touch an identifier as great as the old one. So a
/// post that still sees the old `count` stops there because of the identifier.
extension Entries {
  func append(_ id: UInt64, _ observer: UInt, _ held: borrowing ObserverRegistry.Held) {
    let index = count
    assert(index < capacity && (index == 0 || number(at: index - 1) < id))
    // Pairs with `takeAddress`: first, so that a post that reads the identifier reads this observer.
    unsafe base[index].address.store(observer, ordering: .releasing)
    // Pairs with `nextID`: before the count, so that a post that reads the count reads this identifier.
    unsafe base[index].number.store(id, ordering: .releasing)
    publish(index + 1)
    // No pair: under the lock. The run ends here at the latest.
    let end = unsafe head.pointee.tombstonesTo.load(ordering: .relaxed)
    // No pair: the same.
    if end > index {
      unsafe head.pointee.tombstonesTo.store(UInt32(truncatingIfNeeded: index), ordering: .relaxed)
    }
  }

  /// The index of `id`, if the registration has not ended.
  ///
  /// A post that has announced itself may call it without the lock. What is written meanwhile is
  /// beyond the identifiers that the post may look for.
  func index(of id: UInt64) -> Int? {
    let count = count
    // Most registrations that end are young: look at the last entry first.
    var low = count - 1
    if low < 0 { return nil }
    if number(at: low) != id {
      var high = low
      low = 0
      while low < high {
        let middle = (low &+ high) / 2
        if number(at: middle) < id { low = middle &+ 1 } else { high = middle }
      }
      if number(at: low) != id { return nil }
    }
    return address(at: low) == 0 ? nil : low
  }

  /// Leaves a tombstone, before the reservations are read, and returns the observer that was there.
  func unlink(at index: Int, _ held: borrowing ObserverRegistry.Held) -> UInt {
    let observer = address(at: index)
    // Pairs with `takeAddress`: before `storeClockAgain`, so that a post the scan misses reads 0.
    unsafe base[index].address.store(0, ordering: .releasing)
    return observer
  }

  /// Lowers the count below the tombstones at the end, for posts that announce themselves later.
  ///
  /// - Returns: The previous count, for `restoreCount`, which must follow when the reservations have
  ///   been read.
  func truncate(_ held: borrowing ObserverRegistry.Held) -> Int {
    let before = count
    let run = tombstones
    var end = before
    while end > 0 {
      // Entries that were found ended, and were in reach of a post, are not examined again.
      if run.contains(end - 1) {
        end = run.lowerBound
      } else if address(at: end - 1) == 0 {
        end -= 1
      } else {
        break
      }
    }
    if end < before {
      // The longer run is remembered: appended entries that end again are a short one behind it.
      if before - end >= run.count { tombstones = end..<before }
      publish(end)
    }
    return before
  }

  /// The longest run of tombstones that was found in a list; used under the lock alone.
  private var tombstones: Range<Int> {
    get {
      // No pair: under the lock.
      let from = unsafe Int(head.pointee.tombstonesFrom.load(ordering: .relaxed))
      // No pair: under the lock.
      return unsafe from..<max(from, Int(head.pointee.tombstonesTo.load(ordering: .relaxed)))
    }
    nonmutating set {
      let (from, to) = (newValue.lowerBound, newValue.upperBound)
      // No pair: under the lock.
      unsafe head.pointee.tombstonesFrom.store(UInt32(truncatingIfNeeded: from), ordering: .relaxed)
      // No pair: under the lock.
      unsafe head.pointee.tombstonesTo.store(UInt32(truncatingIfNeeded: to), ordering: .relaxed)
    }
  }

  /// Raises the count again, over the hidden entries that a post with `upper` may still be reading.
  ///
  /// The others may be overwritten: a post that has read the old count stops there on the
  /// identifier, the old or the new.
  func restoreCount(
    _ before: Int, upTo upper: UInt64, _ held: borrowing ObserverRegistry.Held
  ) {
    let lowered = count
    var end = before
    while end > lowered, number(at: end - 1) > upper { end -= 1 }
    // A post that reads the old one stops at its watermark instead.
    publish(end)
  }

  func checkInvariants() {
    #if DEBUG
      for index in 1..<max(1, count) {
        assert(number(at: index - 1) < number(at: index), "The identifiers of a list ascend")
      }
    #endif
  }
}

/// The position of a post in one list, as plain words that are valid until the post leaves.
///
/// No reference is counted here: two threads that post to one source must not write to a common
/// line.
@safe struct Cursor: @unchecked Sendable {
  /// The next entry.
  private var next: UnsafeMutablePointer<Entry>?
  /// How many entries there are from `next` on.
  private var rest = 0
  /// The list, or `nil` for none.
  let list: Unmanaged<ObserverList>?

  /// The end of no list.
  init() { unsafe list = nil }

  /// The end of a list that is to be read later.
  init(unread list: ObserverList) { unsafe self.list = Unmanaged.passUnretained(list) }

  /// Reads `list`, which an announced post has found.
  init(_ list: Unmanaged<ObserverList>) {
    unsafe self.list = list
    // SAFETY: the announcement keeps the list and its buffer.
    unsafe list._withUnsafeGuaranteedRef { list in
      guard let entries = list.entries else { return }
      (unsafe next, rest) = unsafe (entries.base, entries.count)
    }
  }

  /// Whether the list has observers that run elsewhere.
  ///
  /// Asked before the reservation is narrowed.
  var hasGroups: Bool { unsafe list?._withUnsafeGuaranteedRef { $0.hasGroups } ?? false }

  var isAtEnd: Bool { rest == 0 }

  /// The next identifier, or the greatest number at the end.
  var nextID: UInt64 {
    if isAtEnd { return .max }
    // SAFETY: `rest` was counted from what was published.
    // Pairs with `append`: the observer is in place.
    return unsafe next.unsafelyUnwrapped.pointee.number.load(ordering: .acquiring)
  }

  /// Reads nothing of `list` except the entry of `id`, unless that has ended.
  init(_ list: ObserverList, only id: UInt64) {
    self.init(unread: list)
    guard let entries = list.entries, let index = entries.index(of: id) else { return }
    unsafe (next, rest) = unsafe (entries.base + index, 1)
  }

  /// The next observer, or 0; `nextID` has shown that there is an entry.
  mutating func takeAddress() -> UInt {
    // SAFETY: as above.
    let entry = unsafe next.unsafelyUnwrapped
    unsafe next = unsafe entry + 1
    rest &-= 1
    // Pairs with `append` and `unlink`: the observer, or the tombstone.
    return unsafe entry.pointee.address.load(ordering: .acquiring)
  }

  /// The list, of which there is one.
  var listReference: ObserverList { unsafe list.unsafelyUnwrapped.takeUnretainedValue() }
}
