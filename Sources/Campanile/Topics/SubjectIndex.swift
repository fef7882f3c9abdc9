import Synchronization

/// The observers of one message type that observe one subject, by subject.
///
/// Most subjects have one observer, which needs only its closure. Such an observer is stored in the
/// table itself. A second observer, or an observer that needs more, makes a list necessary.
///
/// Posts read it without a lock.
final class SubjectIndex: @unchecked Sendable {
  private let registry: ObserverRegistry
  private let valueType: any Any.Type
  private let table = Atomic<UInt>(0)
  /// Whether subjects with tags have been put in.
  private let hasTags = Atomic<Bool>(false)

  init(registry: ObserverRegistry, valueType: any Any.Type) {
    self.registry = registry
    self.valueType = valueType
  }

  deinit {
    // SAFETY: the index owns its table and what that names, and nobody else has the index.
    guard let current else { return }
    for (_, entry) in current.entries {
      switch entry {
      case .single(let single): unsafe ObserverList.observer(at: single.address).release()
      case .list(let list): unsafe list.release()
      }
    }
    unsafe Unmanaged.passUnretained(current).release()
  }

  /// Whether no subject has an observer.
  ///
  /// A post may ask before it announces itself.
  @inline(__always)
  var isEmpty: Bool {
    // Pairs with `replace`, as the question whether a list is empty does with an addition.
    table.load(ordering: .sequentiallyConsistent) == 0
  }

  @inline(__always)
  private var head: UnsafeMutablePointer<SubjectTableHead>? {
    // SAFETY: replaced tables are kept until the posts that may hold them have left.
    // Pairs with `replace`: the table is filled.
    unsafe UnsafeMutablePointer(bitPattern: table.load(ordering: .acquiring))
  }

  /// The table in use.
  var current: SubjectTable? { unsafe head?.table.takeUnretainedValue() }

  /// Calls `body` with the table in use, which is not counted, and which `body` does not replace.
  @inline(__always)
  private func withCurrent<Result>(
    _ held: borrowing ObserverRegistry.Held, _ body: (SubjectTable) -> Result
  ) -> Result? {
    // SAFETY: the index keeps its table, which is replaced under the lock alone.
    unsafe head?.table._withUnsafeGuaranteedRef(body)
  }

  /// The entry of a subject, for a post that has announced itself.
  @inline(__always)
  func find(_ subject: ObjectIdentifier) -> SubjectEntry? {
    guard let head = unsafe head else { return nil }
    if let found = unsafe head.find(UInt(bitPattern: subject)) { return found }
    // A subject with a tag is never found by its own address: that is no other's while it lives.
    // Pairs with `makeList`: stored before the clock shows the first registration with a tag.
    guard SubjectTag.isUsed, hasTags.load(ordering: .acquiring) else { return nil }
    return SubjectTag.address(for: subject).flatMap { unsafe head.find($0) }
  }
}

/// What changes the index.
extension SubjectIndex {
  /// Makes sure that the next `insert` finds a place, unless the subject already has an observer.
  ///
  /// - Returns: Whether the subject has no observer.
  func makeRoom(
    about subject: SubjectName, _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) -> Bool {
    let found = withCurrent(held) { table in
      (isObserved: table.index(of: subject.address.word) != nil, hasRoom: table.hasRoom)
    }
    if let found {
      if found.isObserved { return false }
      if found.hasRoom { return true }
    }
    makeRoom(&garbage, held)
    return true
  }

  private func makeRoom(
    _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) {
    if withCurrent(held, \.hasRoom) == true { return }
    if let old = rebuild(held) { garbage.structures.append(old) }
  }

  /// Puts in the only observer of a subject, retained; the index owns it from here on.
  func insert(
    _ observer: Unmanaged<AnyObserver>, id: UInt64, about subject: SubjectName,
    _ held: borrowing ObserverRegistry.Held
  ) {
    let address = UInt(bitPattern: unsafe observer.toOpaque())
    withCurrent(held) { $0.insert(subject, id: id, observer: address, held) }!
  }

  /// The list for a subject, made if there is none; an observer that was alone moves there.
  func makeList(
    about subject: SubjectName, _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) -> ObserverList {
    let key = subject.address.word
    // Pairs with `find`.
    if subject.isTagged { hasTags.store(true, ordering: .releasing) }
    guard let (index, entry) = entry(of: key, held) else {
      makeRoom(&garbage, held)
      let list = makeList(about: subject, held)
      current!.insert(key, list, held)
      return list
    }
    switch entry {
    case .list(let list): return unsafe list.takeUnretainedValue()
    case .single(let single):
      let list = makeList(about: subject, held)
      list.adopt(single, &garbage, held)
      current!.replaceSingle(at: index, with: list, held)
      return list
    }
  }

  /// A list that the index owns.
  private func makeList(
    about subject: SubjectName, _ held: borrowing ObserverRegistry.Held
  ) -> ObserverList {
    let list = ObserverList(
      registry: registry, topic: .init(value: valueType, subject: subject),
      hold: SubjectHold(subject), home: .index(.init(object: self)),
      created: registry.tick(held))
    return unsafe Unmanaged.passRetained(list).takeUnretainedValue()
  }

  /// The place of a registration about a subject.
  func slot(
    of id: UInt64, about key: UInt, _ held: borrowing ObserverRegistry.Held
  ) -> RegistrationSlot? {
    guard let (index, entry) = entry(of: key, held) else { return nil }
    switch entry {
    case .single(let single):
      return single.id == id ? unsafe .single(Unmanaged.passUnretained(self), index, single) : nil
    case .list(let list):
      let place = unsafe list._withUnsafeGuaranteedRef { $0.place(of: id, held) }
      return place.map { unsafe .place(list, $0) }
    }
  }

  private func entry(
    of key: UInt, _ held: borrowing ObserverRegistry.Held
  ) -> (index: Int, entry: SubjectEntry)? {
    withCurrent(held) { table in
      table.index(of: key).map { ($0, table.entry(at: $0, of: key)) }
    } ?? nil
  }

  /// Takes out the only observer of a subject.
  ///
  /// - Returns: The observer, which the caller owns from here on.
  func take(
    _ single: Single, at index: Int, _ garbage: inout Garbage,
    _ held: borrowing ObserverRegistry.Held
  ) -> Unmanaged<AnyObserver> {
    remove(at: index, &garbage, held)
    return unsafe ObserverList.observer(at: single.address)
  }

  /// Takes out a list that has become empty.
  func remove(
    _ list: ObserverList, _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) {
    guard let subject = list.topic.subject, let current,
      let index = current.index(of: subject.address.word)
    else { return }
    garbage.structures.append((list, since: list.created))
    remove(at: index, &garbage, held)
    // The garbage holds the list too, so that this release cannot be the last.
    unsafe Unmanaged.passUnretained(list).release()
  }

  private func remove(
    at index: Int, _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) {
    let left = withCurrent(held) { table in
      table.remove(at: index, held)
      return table.liveCount
    }
    if left == 0, let old = replace(with: nil, held) { garbage.structures.append(old) }
  }

  /// Moves to a smaller table when most of this one is empty.
  ///
  /// The old table was in reach of posts until now, so the reservations must be read again.
  func shrink(_ held: borrowing ObserverRegistry.Held) -> Garbage.Piece? {
    withCurrent(held, \.isSparse) == true ? rebuild(held) : nil
  }

  /// The live registrations, those in lists included.
  func registrations(
    in topic: TopicList, _ held: borrowing ObserverRegistry.Held
  ) -> [LiveRegistration] {
    (current?.entries ?? []).flatMap { subject, entry in
      switch entry {
      case .list(let list): return unsafe list.takeUnretainedValue().registrations(held)
      case .single(let single):
        let observer = unsafe ObserverList.observer(at: single.address).takeUnretainedValue()
        let registration = Registration(
          list: topic, id: single.id, companion: .subject(subject))
        return [LiveRegistration(registration: registration, observer: observer)]
      }
    }
  }

  /// Moves the live entries to a new table, with room for a third more; posts in progress finish on
  /// the old one.
  ///
  /// - Returns: The old table.
  private func rebuild(_ held: borrowing ObserverRegistry.Held) -> Garbage.Piece? {
    let capacity = ((current?.liveCount ?? 0) + 1) * 16 / 9
    let new = SubjectTable(capacity: max(4, capacity), created: registry.tick(held))
    current?.move(to: new, held)
    return replace(with: new, held)
  }

  private func replace(
    with new: SubjectTable?, _ held: borrowing ObserverRegistry.Held
  ) -> Garbage.Piece? {
    let old = current
    if let new { _ = unsafe Unmanaged.passRetained(new) }
    // Pairs with `head` and `isEmpty`: after the table is filled, before the reservations are read.
    table.store(
      new.map { UInt(bitPattern: unsafe $0.head) } ?? 0, ordering: .releasing)
    guard let old else { return nil }
    // The caller holds it, so that this release cannot be the last.
    unsafe Unmanaged.passUnretained(old).release()
    return (old, since: old.created)
  }
}
