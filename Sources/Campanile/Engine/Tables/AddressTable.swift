import Synchronization

/// Objects by address: an open-addressing table in one block of entries, read without a lock.
///
/// The table does not retain what it contains; its owner does, and moves the contents to the next
/// table. All changes are made under one lock, which the owner holds. The number of an entry is a
/// key, 0 if it is unused, or 1 if it has a tombstone. Its count is the number of entries that are
/// not unused.
///
/// Invariant: at least one entry is unused, so that every search ends.
@safe struct AddressTable: Sendable {
  let entries: Entries

  /// A table with room for `count` objects and a third more.
  init(for count: Int, created: UInt64 = 0) {
    entries = Entries(capacity: max(4, count * 16 / 9), created: created)
  }

  /// The table at an address that `Entries` gave, if that is not 0.
  init?(at address: UInt) {
    guard let entries = Entries(at: address) else { return nil }
    self.entries = entries
  }

  /// The index at which the search for a key begins.
  ///
  /// It ascends with the hash of the key, so a new table is written from its first entry to its last.
  private func firstIndex(of key: UInt64) -> Int {
    let hash = key &* 0x9E37_79B9_7F4A_7C15
    return Int(hash.multipliedFullWidth(by: UInt64(entries.capacity)).high)
  }

  private func index(after index: Int) -> Int { index &+ 1 == entries.capacity ? 0 : index &+ 1 }

  /// The index of a key, which is greater than 1.
  ///
  /// The loads are sequentially consistent, because a post may look here before it announces itself.
  /// An acquiring load may be carried out before an earlier store of this thread. Another thread that
  /// has registered, and then does not see that store, could conclude that the post comes later.
  @inline(__always)
  func index(of key: UInt) -> Int? {
    let key = UInt64(key)
    var index = firstIndex(of: key)
    while true {
      // SAFETY: `index` is below the capacity.
      // Pairs with `insert`: after this thread's earlier stores, and the object is in place; and with
      // `remove`.
      let found = unsafe entries.base[index].number.load(ordering: .sequentiallyConsistent)
      if found == key { return index }
      if found == 0 { return nil }
      index = self.index(after: index)
    }
  }

  /// The address of the object of a key; after a search, an object that has got its place since.
  @inline(__always)
  func object(of key: UInt) -> UInt? { index(of: key).map { entries.address(at: $0) } }

  /// The addresses of all objects.
  var objects: [UInt] {
    (0..<entries.capacity).compactMap { entries.number(at: $0) > 1 ? entries.address(at: $0) : nil }
  }
}

/// The changes of a table, under the lock.
extension AddressTable {
  /// Whether there is room for another object.
  var hasRoom: Bool { (entries.count + 1) * 4 <= entries.capacity * 3 }

  /// Adds an object of a key that has none.
  func insert<State: ~Copyable>(
    _ key: UInt, _ object: UInt, _ held: borrowing Locked<State>.Held
  ) {
    var index = firstIndex(of: UInt64(key))
    while entries.number(at: index) > 1 { index = self.index(after: index) }
    let isUnused = entries.number(at: index) == 0
    // SAFETY: `index` is below the capacity, and an entry is unused by the invariant.
    // Pairs with `address`: before the key.
    unsafe entries.base[index].address.store(object, ordering: .releasing)
    // Pairs with `index`: last, so that a post that finds the key finds the object.
    unsafe entries.base[index].number.store(UInt64(key), ordering: .sequentiallyConsistent)
    if isUnused { entries.publish(entries.count + 1) }
  }

  /// Removes an object, before the reservations are read, so that later posts do not find it.
  func remove<State: ~Copyable>(at index: Int, _ held: borrowing Locked<State>.Held) {
    // Pairs with `index`: before `storeClockAgain`, so that a post the scan misses finds nobody.
    unsafe entries.base[index].number.store(1, ordering: .releasing)
    // Clears tombstones before an unused entry, because no search continues past that.
    var index = self.index(after: index)
    guard entries.number(at: index) == 0 else { return }
    while true {
      index = (index == 0 ? entries.capacity : index) - 1
      if entries.number(at: index) != 1 { return }
      // Pairs with `index`: a search that reads either value finds the same, since no key follows.
      unsafe entries.base[index].number.store(0, ordering: .releasing)
      entries.publish(entries.count - 1)
    }
  }

  /// Puts everything into another table, which has room for it.
  func move<State: ~Copyable>(to other: AddressTable, _ held: borrowing Locked<State>.Held) {
    for index in 0..<entries.capacity where entries.number(at: index) > 1 {
      other.insert(UInt(entries.number(at: index)), entries.address(at: index), held)
    }
  }
}

/// Objects by address that stay as long as the map does.
///
/// A map that is too full continues with a larger table. The earlier tables stay, because a reader
/// may have found one of them. Together they are smaller than the newest table.
@safe struct AddressMap<Object: AnyObject & Sendable>: ~Copyable, @unchecked Sendable {
  /// The address of the newest table.
  private let newest: Atomic<UInt>
  private let earlier = Locked<[AddressTable]>([])

  init(capacity: Int) { newest = Atomic(AddressTable(for: capacity).entries.address) }

  deinit {
    for object in table.objects { unsafe Self.object(at: object).release() }
    table.entries.deallocate()
    earlier.withLock { for table in $0 { table.entries.deallocate() } }
  }

  private static func object(at address: UInt) -> Unmanaged<Object> {
    // SAFETY: an address in a table is that of an object which the map retained.
    unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
  }

  private var table: AddressTable {
    // SAFETY: there is a table from the beginning, and every table lives as long as this.
    // Pairs with `insert`: after this thread's earlier stores, and the table is filled.
    unsafe AddressTable(at: newest.load(ordering: .sequentiallyConsistent)).unsafelyUnwrapped
  }

  /// The object of `key`, which is greater than 1.
  @inline(__always)
  func object(for key: UInt) -> Unmanaged<Object>? {
    unsafe table.object(of: key).map { unsafe Self.object(at: $0) }
  }

  /// Puts in an object of a key that has none and is greater than 1.
  ///
  /// - Parameter held: The lock of all writers.
  func insert<State: ~Copyable>(
    _ key: UInt, _ object: Object, _ held: borrowing Locked<State>.Held
  ) {
    let old = table
    let address = unsafe UInt(bitPattern: Unmanaged.passRetained(object).toOpaque())
    if old.hasRoom { return old.insert(key, address, held) }
    let new = AddressTable(for: old.entries.count * 2)
    old.move(to: new, held)
    new.insert(key, address, held)
    earlier.withLock { $0.append(old) }
    // Pairs with `table`: after the table is filled.
    newest.store(new.entries.address, ordering: .sequentiallyConsistent)
  }

  /// Every object.
  ///
  /// - Parameter held: The same lock.
  func objects<State: ~Copyable>(_ held: borrowing Locked<State>.Held) -> [Object] {
    table.objects.map { unsafe Self.object(at: $0).takeUnretainedValue() }
  }
}

/// The lists of a center by message type.
///
/// Lists live as long as the center, so a post may look here before it announces itself. Types are
/// identified by the address of their metadata.
struct TopicTable: ~Copyable, Sendable {
  private let map = AddressMap<TopicList>(capacity: 8)

  private static func key(_ type: any Any.Type) -> UInt {
    UInt(bitPattern: ObjectIdentifier(type))
  }

  /// The list of a type, if it was ever observed here, for a post that counts no reference to it.
  @inline(__always)
  func topic(of type: any Any.Type) -> Topic? {
    unsafe map.object(for: Self.key(type)).map { unsafe Topic($0) }
  }

  /// The list of a type, made if there is none.
  func makeList(
    of type: any Any.Type, _ registry: ObserverRegistry, _ held: borrowing ObserverRegistry.Held
  ) -> TopicList {
    if let topic = topic(of: type) { return unsafe topic.list.takeUnretainedValue() }
    let list = TopicList(registry: registry, valueType: type)
    map.insert(Self.key(type), list, held)
    return list
  }

  /// Every list, without its parts.
  func parts(_ held: borrowing ObserverRegistry.Held) -> [ObserverList] {
    map.objects(held).flatMap { $0.parts(held) }
  }
}

/// The list of a message type, as a plain word; valid as long as the center.
@safe struct Topic {
  // SAFETY: topics live as long as the center, and the poster keeps the center.
  let list: Unmanaged<TopicList>

  init(_ list: Unmanaged<TopicList>) { unsafe self.list = list }

  /// Whether nobody observes messages about any subject.
  var isEmpty: Bool { unsafe list._withUnsafeGuaranteedRef { $0.isEmpty } }

  /// Whether messages about some subject are observed.
  var hasSubjects: Bool { unsafe list._withUnsafeGuaranteedRef { $0.hasSubjects } }
}

extension ObserverRegistry {
  /// Posts to the observers of a topic about any subject.
  @inline(__always)
  func post<Value>(
    _ value: Value, _ post: borrowing Post, to topic: Topic, upTo limit: UInt64
  ) {
    // SAFETY: topics live as long as the center, and the poster keeps the center.
    unsafe topic.list._withUnsafeGuaranteedRef { self.post(value, post, to: $0, upTo: limit) }
  }
}
