import Synchronization

/// The observers of one message type.
///
/// This list has the observers of messages about any subject. A table has a list for each subject
/// that is observed. Posts read it without a lock: a post copies what it finds and does not look
/// again. So an entry may get the list of another subject during the post, whose registrations are
/// all newer than the watermark.
final class TopicList: ObserverList, @unchecked Sendable {
  /// The key of the topic, in a center whose topics have keys.
  let key: String?
  /// The words of the key, which a post compares instead of it.
  let keyIdentity: StringIdentity?
  /// The address of the table, or 0.
  private let table = Atomic<UInt>(0)
  /// Whether subjects with tags have been put in.
  private let hasTags = Atomic<Bool>(false)
  /// The number of lists in the table; protected by the registry's lock.
  private var subjectCount = 0

  init(
    registry: ObserverRegistry, valueType: any Any.Type, key: String? = nil, created: UInt64 = 0
  ) {
    self.key = key
    keyIdentity = key.flatMap { StringIdentity($0) }
    super.init(registry: registry, valueType: valueType, created: created)
  }

  deinit {
    // SAFETY: the topic owns its table and the lists in it, and has no other reference any more.
    guard let current else { return }
    for list in current.objects { unsafe Self.list(at: list).release() }
    current.entries.deallocate()
  }

  private static func list(at address: UInt) -> Unmanaged<ObserverList> {
    // SAFETY: an address in the table is that of a list which the topic retained.
    unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped)
  }

  /// Whether some subject has an observer.
  ///
  /// A post may ask before it announces itself.
  var hasSubjects: Bool {
    // Pairs with `replaceTable`, as the question whether a list is empty does with an addition.
    table.load(ordering: .sequentiallyConsistent) != 0
  }

  /// Whether a post would find an observer, or would if it were about some subject.
  var isObserved: Bool { !isEmpty || hasSubjects }

  /// The table in use, which is kept until the posts that may hold it have left.
  var current: AddressTable? {
    // Pairs with `replaceTable`: the table is filled.
    AddressTable(at: table.load(ordering: .acquiring))
  }

  /// The list of a subject, for a post that has announced itself.
  @inline(__always)
  func find(_ subject: ObjectIdentifier) -> Unmanaged<ObserverList>? {
    guard let current else { return nil }
    if let found = current.object(of: UInt(bitPattern: subject)) {
      return unsafe Self.list(at: found)
    }
    // A subject with a tag is never found by its own address: that is no other's while it lives.
    // Pairs with `list`: stored before the clock shows the first registration with a tag.
    guard SubjectTag.isUsed, hasTags.load(ordering: .acquiring) else { return nil }
    let found = SubjectTag.address(for: subject).flatMap { current.object(of: $0) }
    return unsafe found.map { unsafe Self.list(at: $0) }
  }

  /// The only list that a post may reach here; `nil` if there is none, or there are two.
  @inline(__always)
  func only(about subject: ObjectIdentifier?) -> Unmanaged<ObserverList>? {
    guard let subject, let list = unsafe find(subject) else {
      return unsafe isEmpty ? nil : Unmanaged.passUnretained(self)
    }
    return unsafe isEmpty ? list : nil
  }

  override func parts(_ held: borrowing ObserverRegistry.Held) -> [ObserverList] {
    (current?.objects ?? []).reduce(into: super.parts(held)) {
      $0 += unsafe Self.list(at: $1).takeUnretainedValue().parts(held)
    }
  }
}

/// The changes of the table.
extension TopicList {
  /// The list for observers of a subject, made if there is none.
  func list(
    about subject: SubjectName, _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) -> ObserverList {
    let key = subject.word
    if let found = current?.object(of: key) {
      return unsafe Self.list(at: found).takeUnretainedValue()
    }
    // Pairs with `find`.
    if subject.isTagged { hasTags.store(true, ordering: .releasing) }
    if current?.hasRoom != true { garbage.add(rebuildTable(held)) }
    let list = SubjectList(subject, of: self, held)
    let address = unsafe Unmanaged.passRetained(list as ObserverList).toOpaque()
    current!.insert(key, UInt(bitPattern: address), held)
    subjectCount += 1
    return list
  }

  /// Takes out a list that has become empty.
  fileprivate func remove(
    _ list: SubjectList, _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) {
    guard let current, let index = current.index(of: list.name.word) else { return }
    garbage.add(list)
    current.remove(at: index, held)
    subjectCount -= 1
    if subjectCount == 0 { garbage.add(replaceTable(with: nil, held)) }
    // The garbage holds the list too, so that this release cannot be the last.
    unsafe Unmanaged.passUnretained(list).release()
  }

  /// Moves to a smaller table when most of this one is empty.
  ///
  /// The old table was in reach of posts until now, so the reservations must be read again.
  fileprivate func shrinkTable(_ held: borrowing ObserverRegistry.Held) -> (any Retirable)? {
    guard let capacity = current?.entries.capacity, capacity > 16, subjectCount * 4 < capacity
    else { return nil }
    return rebuildTable(held)
  }

  /// Moves the lists to a new table, with room for a third more; posts in progress finish on the old
  /// one.
  ///
  /// - Returns: The old table.
  private func rebuildTable(_ held: borrowing ObserverRegistry.Held) -> (any Retirable)? {
    let new = AddressTable(for: subjectCount + 1, created: registry.tick(held))
    current?.move(to: new, held)
    return replaceTable(with: new, held)
  }

  private func replaceTable(
    with new: AddressTable?, _ held: borrowing ObserverRegistry.Held
  ) -> (any Retirable)? {
    let old = current?.entries
    // Pairs with `current` and `hasSubjects`: after the table is filled, before the reservations are
    // read.
    table.store(new?.entries.address ?? 0, ordering: .releasing)
    return old?.owner
  }
}

/// The observers of one message type that observe one subject.
@safe final class SubjectList: ObserverList, @unchecked Sendable {
  let name: SubjectName
  /// Reserves the address of the subject, until the list has left the table; never read.
  // SAFETY: the registry's lock keeps accesses apart.
  @exclusivity(unchecked) private unowned var memory: AnyObject?
  // SAFETY: used under the lock alone, by a registration that has not ended: a source ends all of them
  // before its topics can go.
  private unowned(unsafe) let topic: TopicList

  fileprivate init(
    _ name: SubjectName, of topic: TopicList, _ held: borrowing ObserverRegistry.Held
  ) {
    self.name = name
    unsafe memory = name.object
    unsafe self.topic = topic
    let created = topic.registry.tick(held)
    super.init(registry: topic.registry, valueType: topic.valueType, created: created)
  }

  override var subject: SubjectName? { name }

  override var root: ObserverList { unsafe topic }

  override func leaveParent(_ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held) {
    unsafe memory = nil
    unsafe topic.remove(self, &garbage, held)
  }

  override func shrinkParent(_ held: borrowing ObserverRegistry.Held) -> (any Retirable)? {
    unsafe topic.shrinkTable(held)
  }
}

extension ObserverList {
  /// The key of the topic that the list belongs to, if it has one.
  ///
  /// Valid as `root` is.
  var topicKey: String? { (root as? TopicList)?.key }
}
