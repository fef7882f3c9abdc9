import Synchronization

/// The observers of one message type who hear of one subject, by subject.
///
/// Most subjects have one observer, which needs nothing but the closure: it stands in the table
/// itself. The second one, or one that needs more, brings a list.
///
/// Written under the registry's lock, read by posts without it.
final class SubjectIndex: @unchecked Sendable {
  private let registry: ObserverRegistry
  private let valueType: any Any.Type
  private let table = Atomic<UInt>(0)

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
    // Sequentially consistent, as a list's: what this thread has stored so before comes before.
    table.load(ordering: .sequentiallyConsistent) == 0
  }

  @inline(__always)
  private var head: UnsafeMutablePointer<SubjectTableHead>? {
    // SAFETY: replaced tables are kept until the posts that may hold them have left.
    unsafe UnsafeMutablePointer(bitPattern: table.load(ordering: .acquiring))
  }

  /// The table in use.
  var current: SubjectTable? { unsafe head?.table.takeUnretainedValue() }

  /// Calls `body` with the table in use, which is not counted.
  ///
  /// Under the registry's lock; `body` does not replace the table.
  @inline(__always)
  private func withCurrent<Result>(_ body: (SubjectTable) -> Result) -> Result? {
    // SAFETY: the index keeps its table, which is replaced under the lock alone.
    unsafe head?.table._withUnsafeGuaranteedRef(body)
  }

  /// What stands about a subject, for a post that has announced itself.
  @inline(__always)
  func find(_ subject: ObjectIdentifier) -> SubjectEntry? {
    unsafe head?.find(UInt(bitPattern: subject))
  }
}

/// What happens under the registry's lock.
extension SubjectIndex {
  /// Sees to it that the next `insert` finds a place, unless somebody observes the subject already.
  ///
  /// - Returns: whether nobody does.
  func makeRoom(about subject: AnyObject, _ garbage: inout Garbage) -> Bool {
    let key = UInt(bitPattern: ObjectIdentifier(subject))
    if withCurrent({ $0.index(of: key) != nil }) == true { return false }
    makeRoom(&garbage)
    return true
  }

  private func makeRoom(_ garbage: inout Garbage) {
    if withCurrent(\.hasRoom) == true { return }
    if let old = rebuild() { garbage.structures.append(old) }
  }

  /// Puts in the only observer of a subject, retained; the index owns it from here on.
  func insert(_ observer: Unmanaged<AnyObserver>, id: UInt64, about subject: AnyObject) {
    let address = UInt(bitPattern: unsafe observer.toOpaque())
    withCurrent { $0.insert(subject, id: id, observer: address) }!
  }

  /// The list for a subject, made if there is none; an observer that stood alone moves there.
  func makeList(about subject: AnyObject, _ garbage: inout Garbage) -> ObserverList {
    let key = UInt(bitPattern: ObjectIdentifier(subject))
    guard let (index, entry) = entry(of: key) else {
      makeRoom(&garbage)
      let list = makeList(about: subject)
      current!.insert(key, list)
      return list
    }
    switch entry {
    case .list(let list): return unsafe list.takeUnretainedValue()
    case .single(let single):
      let list = makeList(about: subject)
      list.adopt(single, &garbage)
      current!.replaceSingle(at: index, with: list)
      return list
    }
  }

  /// A list that the index owns.
  private func makeList(about subject: AnyObject) -> ObserverList {
    let list = ObserverList(
      registry: registry,
      topic: .init(value: valueType, subject: ObjectIdentifier(subject)),
      subject: subject,
      home: .index(.init(object: self)))
    return unsafe Unmanaged.passRetained(list).takeUnretainedValue()
  }

  /// Where a registration about a subject stands.
  func seat(of id: UInt64, about key: UInt) -> Seat? {
    guard let (index, entry) = entry(of: key) else { return nil }
    switch entry {
    case .single(let single):
      return single.id == id ? unsafe .single(Unmanaged.passUnretained(self), index, single) : nil
    case .list(let list):
      let place = unsafe list._withUnsafeGuaranteedRef { $0.place(of: id) }
      return place.map { unsafe .place(list, $0) }
    }
  }

  private func entry(of key: UInt) -> (index: Int, entry: SubjectEntry)? {
    withCurrent { table in
      table.index(of: key).map { ($0, table.entry(at: $0, of: key)) }
    } ?? nil
  }

  /// Takes out the only observer of a subject.
  ///
  /// - Returns: The observer, which the caller owns from here on.
  func take(_ single: Single, at index: Int, _ garbage: inout Garbage) -> Unmanaged<AnyObserver> {
    remove(at: index, &garbage)
    return unsafe ObserverList.observer(at: single.address)
  }

  /// Takes out a list that has become empty.
  func remove(_ list: ObserverList, _ garbage: inout Garbage) {
    guard let subject = list.topic.subject, let current,
      let index = current.index(of: UInt(bitPattern: subject))
    else { return }
    garbage.structures.append((list, since: list.created))
    remove(at: index, &garbage)
    // The garbage holds the list too, so that this release cannot be the last.
    unsafe Unmanaged.passUnretained(list).release()
  }

  private func remove(at index: Int, _ garbage: inout Garbage) {
    let left = withCurrent { table in
      table.remove(at: index)
      return table.liveCount
    }
    if left == 0, let old = replace(with: nil) { garbage.structures.append(old) }
  }

  /// Moves to a smaller table when most of this one is empty.
  ///
  /// What this leaves over was in reach of posts until now: the frames are to be read again.
  func shrink() -> Garbage.Piece? { withCurrent(\.isSparse) == true ? rebuild() : nil }

  /// The live registrations, those in lists included.
  func registrations(in topic: TopicList) -> [LiveRegistration] {
    (current?.entries ?? []).flatMap { subject, entry in
      switch entry {
      case .list(let list): return unsafe list.takeUnretainedValue().registrations
      case .single(let single):
        let observer = unsafe ObserverList.observer(at: single.address).takeUnretainedValue()
        let registration = Registration(
          list: topic, id: single.id, companion: .subject(subject))
        return [LiveRegistration(registration: registration, observer: observer)]
      }
    }
  }

  /// Moves what lives to a new table, with room for a third more; posts in progress finish on the
  /// old one.
  ///
  /// - Returns: the old one.
  private func rebuild() -> Garbage.Piece? {
    let capacity = ((current?.liveCount ?? 0) + 1) * 16 / 9
    let new = SubjectTable(capacity: max(4, capacity), created: registry.tick())
    current?.move(to: new)
    return replace(with: new)
  }

  private func replace(with new: SubjectTable?) -> Garbage.Piece? {
    let old = current
    if let new { _ = unsafe Unmanaged.passRetained(new) }
    table.store(
      new.map { UInt(bitPattern: unsafe $0.head) } ?? 0, ordering: .releasing)
    guard let old else { return nil }
    // The caller holds it, so that this release cannot be the last.
    unsafe Unmanaged.passUnretained(old).release()
    return (old, since: old.created)
  }
}
