import Synchronization

/// The entry of one subject: its only observer, or a list of several.
struct SubjectPlace: ~Copyable {
  /// The address of the subject's name; 0 in a place that is unused, 1 in one with a tombstone.
  fileprivate let key = Atomic<UInt>(0)
  /// The identifier of the only registration, even after it has moved to a list.
  ///
  /// It is the greatest number for an entry that was a list from the beginning.
  fileprivate let id = Atomic<UInt64>(0)
  /// The address of the only observer, or of a list with the lowest bit set.
  fileprivate let word = Atomic<UInt>(0)
}

/// The content of a place.
@safe enum SubjectEntry {
  case single(Single)
  case list(Unmanaged<ObserverList>)
}

/// The only registration about a subject, as a post or the writer finds it.
struct Single {
  let id: UInt64
  let address: UInt
  let subject: SubjectAddress
}

/// The head of a table's memory; the places follow.
@safe struct SubjectTableHead: ~Copyable {
  fileprivate let capacity: Int
  fileprivate let table: Unmanaged<SubjectTable>
}

extension UnsafeMutablePointer<SubjectTableHead> {
  @inline(__always)
  fileprivate var places: UnsafeMutablePointer<SubjectPlace> {
    // SAFETY: the table allocated its places behind the head, which is aligned as they are.
    unsafe UnsafeMutableRawPointer(self + 1).assumingMemoryBound(to: SubjectPlace.self)
  }

  /// The index at which the search for a key begins.
  ///
  /// It ascends with the hash of the key, so a rebuilt table is written from its first place to its
  /// last.
  @inline(__always)
  fileprivate func firstIndex(of key: UInt) -> Int {
    let hash = UInt64(key) &* 0x9E37_79B9_7F4A_7C15
    return unsafe Int(hash.multipliedFullWidth(by: UInt64(pointee.capacity)).high)
  }

  @inline(__always)
  fileprivate func index(after index: Int) -> Int {
    unsafe index &+ 1 == pointee.capacity ? 0 : index &+ 1
  }

  /// The index of a subject.
  @inline(__always)
  fileprivate func index(of key: UInt) -> Int? {
    let places = unsafe places
    var index = unsafe firstIndex(of: key)
    while true {
      // SAFETY: `index` is below the capacity.
      // Pairs with `insert`: the rest is in place; and with `remove`.
      let found = unsafe places[index].key.load(ordering: .acquiring)
      if found == key { return index }
      if found == 0 { return nil }
      index = unsafe self.index(after: index)
    }
  }

  @inline(__always)
  fileprivate func entry(at index: Int, of key: UInt) -> SubjectEntry {
    // SAFETY: the place has or had the key, and was filled before it got that.
    let place = unsafe places + index
    // Pairs with `insert`: before the identifier is loaded, which was stored before the word.
    let word = unsafe place.pointee.word.load(ordering: .acquiring)
    if word & 1 == 0 {
      // Pairs with `insert`: of a word that is too new this is beyond the post's watermark.
      let id = unsafe place.pointee.id.load(ordering: .acquiring)
      return .single(Single(id: id, address: word, subject: SubjectAddress(word: key)))
    }
    // SAFETY: the lowest bit marks the address of a list, which the table's owner retains.
    return unsafe .list(Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: word & ~1)!))
  }

  /// The entry of a subject, for a post that has announced itself.
  @inline(__always)
  func find(_ key: UInt) -> SubjectEntry? {
    unsafe index(of: key).map { unsafe entry(at: $0, of: key) }
  }

  /// The object that owns the memory.
  var table: Unmanaged<SubjectTable> { unsafe pointee.table }
}

/// Observers and lists by subject: an open-addressing table that is read without a lock.
///
/// The table does not retain what it contains. Its owner does, and moves the contents to the next
/// table. A post copies what it finds and does not look again. So a place may change from an
/// observer to a list during the post, or to another subject. The post does not call what was
/// registered after its watermark.
///
/// Invariant: at least one place is unused, so that every search ends.
@safe final class SubjectTable: @unchecked Sendable {
  let created: UInt64
  let head: UnsafeMutablePointer<SubjectTableHead>
  let capacity: Int
  private let places: UnsafeMutablePointer<SubjectPlace>
  /// Reserves the keys of the places with an observer; a list reserves its own.
  private let holds: UnsafeMutablePointer<SubjectHold?>
  private var usedCount = 0
  private(set) var liveCount = 0

  init(capacity: Int, created: UInt64) {
    self.created = created
    self.capacity = capacity
    let byteCount =
      MemoryLayout<SubjectTableHead>.stride + capacity * MemoryLayout<SubjectPlace>.stride
    let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
    unsafe head = memory.bindMemory(to: SubjectTableHead.self, capacity: 1)
    unsafe places = head.places
    unsafe holds = .allocate(capacity: capacity)
    unsafe head.initialize(
      to: SubjectTableHead(capacity: capacity, table: Unmanaged.passUnretained(self)))
    for index in 0..<capacity {
      unsafe (places + index).initialize(to: SubjectPlace())
      unsafe (holds + index).initialize(to: nil)
    }
  }

  deinit {
    unsafe places.deinitialize(count: capacity)
    unsafe holds.deinitialize(count: capacity)
    unsafe holds.deallocate()
    unsafe head.deinitialize(count: 1)
    unsafe UnsafeMutableRawPointer(head).deallocate()
  }

  /// The index of a subject.
  func index(of key: UInt) -> Int? { unsafe head.index(of: key) }

  /// The entry at the place of `key`.
  func entry(at index: Int, of key: UInt) -> SubjectEntry { unsafe head.entry(at: index, of: key) }

  /// Whether there is room for another subject.
  var hasRoom: Bool { (usedCount + 1) * 4 <= capacity * 3 }

  /// Whether most of the table is empty.
  var isSparse: Bool { capacity > 16 && liveCount * 4 < capacity }

  /// Adds a subject that is not in the table, with its only observer.
  func insert(
    _ subject: SubjectName, id: UInt64, observer: UInt, _ held: borrowing ObserverRegistry.Held
  ) {
    let index = insert(subject.address.word, id: id, word: observer)
    unsafe holds[index] = SubjectHold(subject)
  }

  /// Adds a subject that is not in the table, with its list.
  func insert(_ key: UInt, _ list: ObserverList, _ held: borrowing ObserverRegistry.Held) {
    _ = insert(key, id: .max, word: Self.word(of: list))
  }

  private static func word(of list: ObserverList) -> UInt {
    UInt(bitPattern: ObjectIdentifier(list)) | 1
  }

  private func insert(_ key: UInt, id: UInt64, word: UInt) -> Int {
    var index = unsafe head.firstIndex(of: key)
    while true {
      // SAFETY: `index` is below the capacity, and a place is unused by the invariant.
      let place = unsafe places + index
      // No pair: the lock orders all stores of the table.
      let found = unsafe place.pointee.key.load(ordering: .relaxed)
      if found <= 1 {
        // Pairs with `entry`: first, so that a post that reads the new word reads this identifier.
        unsafe place.pointee.id.store(id, ordering: .releasing)
        // Pairs with `entry`: before the key.
        unsafe place.pointee.word.store(word, ordering: .releasing)
        // Pairs with `index`: last, so that who finds the key finds the rest.
        unsafe place.pointee.key.store(key, ordering: .releasing)
        if found == 0 { usedCount += 1 }
        liveCount += 1
        return index
      }
      index = unsafe head.index(after: index)
    }
  }

  /// Replaces the only observer by a list, which already contains that observer.
  ///
  /// Posts that have found the observer continue with it. The identifier stays for posts that are
  /// looking it up.
  func replaceSingle(
    at index: Int, with list: ObserverList, _ held: borrowing ObserverRegistry.Held
  ) {
    // Pairs with `entry`: the list has the observer already.
    unsafe places[index].word.store(Self.word(of: list), ordering: .releasing)
    unsafe holds[index] = nil
  }

  /// Removes a subject, before the reservations are read, so that later posts do not find it.
  func remove(at index: Int, _ held: borrowing ObserverRegistry.Held) {
    // Pairs with `index`: before `storeClockAgain`, so that a post the scan misses finds nobody.
    unsafe places[index].key.store(1, ordering: .releasing)
    unsafe holds[index] = nil
    liveCount -= 1
    clear(before: unsafe head.index(after: index))
  }

  /// Clears tombstones before an unused place: no search goes past that.
  private func clear(before index: Int) {
    var index = index
    // No pair: under the lock.
    guard unsafe places[index].key.load(ordering: .relaxed) == 0 else { return }
    while true {
      index = index == 0 ? capacity - 1 : index - 1
      // No pair: under the lock.
      if unsafe places[index].key.load(ordering: .relaxed) != 1 { return }
      // Pairs with `index`: a search that reads either value finds the same, since no key follows.
      unsafe places[index].key.store(0, ordering: .releasing)
      usedCount -= 1
    }
  }

  /// Puts everything into another table, which has room for it.
  func move(to other: SubjectTable, _ held: borrowing ObserverRegistry.Held) {
    for index in 0..<capacity {
      // SAFETY: `index` is below the capacity; what the places name stays with the owner.
      let place = unsafe places + index
      // No pair: under the lock.
      let key = unsafe place.pointee.key.load(ordering: .relaxed)
      if key <= 1 { continue }
      // No pair: under the lock.
      let id = unsafe place.pointee.id.load(ordering: .relaxed)
      // No pair: under the lock.
      let word = unsafe place.pointee.word.load(ordering: .relaxed)
      let target = other.insert(key, id: id, word: word)
      unsafe other.holds[target] = holds[index].take()
    }
  }

  /// The entries of the table.
  var entries: [(subject: SubjectAddress, entry: SubjectEntry)] {
    (0..<capacity).compactMap { index in
      // No pair: under the lock.
      let key = unsafe places[index].key.load(ordering: .relaxed)
      return key <= 1 ? nil : (SubjectAddress(word: key), entry(at: index, of: key))
    }
  }
}
