import Synchronization

/// The one list that every source is built on: registrations in order, read without a lock.
///
/// Observers that run where the value is posted, or that bring a place of their own, stand in the
/// list's buffer. Observers on a shared target stand in a group for that target, which is a list too:
/// a post leaves one record for the whole group.
///
/// What changes is written under the lock of the `registry`: `buffer`, `groups`, `population`, and
/// the two plain fields. A post reads the atomic ones between announcing itself and leaving.
class ObserverList: @unchecked Sendable {
  /// What the list is about, for descriptions and for removal by owner and type.
  struct Topic: Sendable {
    var value: any Any.Type
    var subject: ObjectIdentifier?
  }

  let registry: ObserverRegistry
  let topic: Topic
  /// The clock's time when this list was made; a post with a lower mark does not hold it.
  let created: UInt64
  /// The target whose group this list is; kept by the group, for as long as it has observers.
  weak let groupTarget: (any DeliveryTarget)?
  /// Where the list leaves when its last registration has ended.
  let home: Home
  /// The address of the head of the list's memory, or 0.
  private let buffer = Atomic<UInt>(0)
  private let groups = Atomic<UInt>(0)
  /// The registrations that have not ended, those in groups included.
  private let population = Atomic<Int>(0)
  /// The registrations in the buffer that queue always.
  private let ordered = Atomic<Int>(0)
  /// The registrations in the buffer that are told the subject.
  private let told = Atomic<Int>(0)
  /// The registrations in the buffer that have not ended.
  ///
  /// Protected by the registry's lock.
  private var liveCount = 0
  /// Keeps the address of a dead subject from being used again.
  ///
  /// Protected by the registry's lock.
  private unowned var subject: AnyObject?

  /// Who lets go of a list that has become empty.
  enum Home {
    /// Nobody: the list lives as long as its source.
    case source
    /// The list that this one is a target's group of.
    case list(Unowned<ObserverList>)
    /// The index by subject that this list stands in.
    case index(Unowned<SubjectIndex>)
  }

  struct Unowned<Object: AnyObject> {
    unowned let object: Object
  }

  init(
    registry: ObserverRegistry, topic: Topic, subject: AnyObject? = nil, home: Home = .source,
    groupTarget: (any DeliveryTarget)? = nil
  ) {
    self.groupTarget = groupTarget
    self.registry = registry
    self.topic = topic
    self.subject = subject
    self.home = home
    created = registry.tick()
  }

  deinit {
    // SAFETY: nobody else has this list, and it owns the buffer, the groups and what the buffer names.
    if let buffer = currentBuffer {
      for index in 0..<buffer.count {
        let address = buffer.take(at: index)
        if address != 0 { unsafe Self.observer(at: address).release() }
      }
    }
    if let buffer = currentBuffer { unsafe Unmanaged.passUnretained(buffer).release() }
    Self.release(groups.load(ordering: .relaxed))
  }

  /// Whether a post would find nobody.
  @inline(__always)
  var isEmpty: Bool { population.load(ordering: .acquiring) == 0 }
  var count: Int { population.load(ordering: .acquiring) }
  /// Whether the list has registrations that run inline where they can.
  var hasUnordered: Bool { count > ordered.load(ordering: .acquiring) }
  /// Whether the list has registrations that are told the subject.
  var hasTold: Bool { told.load(ordering: .acquiring) > 0 }
  /// Whether the list has registrations that queue always.
  var hasOrdered: Bool { ordered.load(ordering: .acquiring) > 0 }

  // MARK: Addresses

  @inline(__always)
  static func observer(at address: UInt) -> Unmanaged<AnyObserver> {
    // SAFETY: an address in an entry is that of an observer which the list retained.
    unsafe Unmanaged.fromOpaque(UnsafeRawPointer(bitPattern: address)!)
  }

  private static func release(_ address: UInt) {
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return }
    unsafe Unmanaged<AnyObject>.fromOpaque(pointer).release()
  }

  @inline(__always)
  private static func object<T: AnyObject>(_ type: T.Type, at address: UInt) -> T? {
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
    return unsafe Unmanaged<T>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// The memory to walk.
  ///
  /// Valid under the lock, or until an announced post leaves.
  @inline(__always)
  var currentBuffer: EntryBuffer? {
    unsafe bufferHead?.buffer
  }

  /// The memory to walk, for a post that counts no references.
  @inline(__always)
  var bufferHead: UnsafeMutablePointer<EntryBufferHead>? {
    unsafe UnsafeMutablePointer(bitPattern: buffer.load(ordering: .sequentiallyConsistent))
  }

  @inline(__always)
  var hasGroups: Bool { groups.load(ordering: .sequentiallyConsistent) != 0 }

  /// The groups to leave records for.
  ///
  /// Valid as `currentBuffer` is.
  @inline(__always)
  var currentGroups: GroupArray? {
    Self.object(GroupArray.self, at: groups.load(ordering: .sequentiallyConsistent))
  }
}

/// What happens to a list under the lock of its registry.
extension ObserverList {
  /// Makes sure that the next `append` finds a place.
  func makeRoom(_ garbage: inout Garbage) {
    if let buffer = currentBuffer, buffer.count < buffer.capacity { return }
    rebuild(capacity: max(2, liveCount * 2), &garbage)
  }

  /// Puts an observer at the end.
  func append(_ observer: AnyObserver, id: UInt64) {
    let address = unsafe UInt(bitPattern: Unmanaged.passRetained(observer).toOpaque())
    currentBuffer!.append(id: id, address: address)
    liveCount += 1
    if observer.isOrdered { ordered.wrappingAdd(1, ordering: .sequentiallyConsistent) }
    if observer.isTold { told.wrappingAdd(1, ordering: .sequentiallyConsistent) }
    addToPopulation(1)
  }

  /// The observer registered as `id`, unless it has ended.
  func find(_ id: UInt64) -> AnyObserver? {
    guard let buffer = currentBuffer, let index = buffer.index(of: id) else { return nil }
    return unsafe Self.observer(at: buffer.address(at: index)).takeUnretainedValue()
  }

  /// Takes a registration out of the list: no later post finds it.
  func remove(_ id: UInt64) -> AnyObserver? {
    guard let buffer = currentBuffer, let index = buffer.index(of: id) else { return nil }
    let observer = unsafe Self.observer(at: buffer.take(at: index)).takeRetainedValue()
    liveCount -= 1
    if observer.isOrdered { ordered.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
    if observer.isTold { told.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
    addToPopulation(-1)
    return observer
  }

  /// Gives memory back after a removal, around the reading of the frames.
  ///
  /// - Parameter scan: Reads the frames, and returns the greatest mark of a post in progress.
  func trim(_ scan: () -> UInt64) {
    guard let buffer = currentBuffer else {
      _ = scan()
      return
    }
    let before = buffer.withdraw()
    buffer.restore(before, upTo: scan())
  }

  /// Moves to a smaller buffer when most of this one is empty.
  ///
  /// What this leaves over was in reach of posts until now: the frames are to be read again.
  func shrink(_ garbage: inout Garbage) {
    guard let buffer = currentBuffer, buffer.capacity > 8, liveCount * 4 < buffer.capacity else {
      return
    }
    rebuild(capacity: max(2, liveCount * 2), &garbage)
  }

  /// Moves what lives to a new buffer; posts in progress finish on the old one.
  private func rebuild(capacity: Int, _ garbage: inout Garbage) {
    let old = currentBuffer
    let new = EntryBuffer(capacity: capacity, created: registry.tick())
    if let old {
      for index in 0..<old.count {
        let address = old.address(at: index)
        if address != 0 { new.append(id: old.id(at: index), address: address) }
      }
      garbage.structures.append((old, since: old.created))
    }
    new.checkInvariants()
    _ = unsafe Unmanaged.passRetained(new)
    buffer.store(UInt(bitPattern: unsafe new.head), ordering: .sequentiallyConsistent)
    // The garbage holds the old one, so that this release cannot be the last.
    if let old { unsafe Unmanaged.passUnretained(old).release() }
  }

  private func replace(_ place: borrowing Atomic<UInt>, with object: AnyObject?) {
    let address = object.map { unsafe UInt(bitPattern: Unmanaged.passRetained($0).toOpaque()) }
    // The garbage holds the old one, so that this release cannot be the last.
    Self.release(place.exchange(address ?? 0, ordering: .sequentiallyConsistent))
  }

  private func addToPopulation(_ change: Int) {
    population.store(
      population.load(ordering: .relaxed) + change, ordering: .sequentiallyConsistent)
    if case .list(let parent) = home { parent.object.addToPopulation(change) }
  }

  /// The group of the observers on `target`, made if there is none.
  func group(for target: any DeliveryTarget, _ garbage: inout Garbage) -> TargetGroup {
    let old = currentGroups
    if let group = old?.first(for: target.mailbox) { return group }
    let list = ObserverList(
      registry: registry, topic: topic, home: .list(Unowned(object: self)), groupTarget: target)
    let group = TargetGroup(target: target, list: list)
    if let old { garbage.structures.append((old, since: old.created)) }
    replace(groups, with: GroupArray((old?.groups ?? []) + [group], created: registry.tick()))
    return group
  }

  /// Takes the list, which has become empty, out of what it stands in.
  func leaveHome(_ garbage: inout Garbage) {
    switch home {
    case .source: break
    case .list(let parent): parent.object.dropGroup(of: self, &garbage)
    case .index(let index):
      subject = nil
      index.object.remove(self, &garbage)
    }
  }

  private func dropGroup(of list: ObserverList, _ garbage: inout Garbage) {
    guard let old = currentGroups else { return }
    let rest = old.groups.filter { $0.list !== list }
    garbage.structures.append((old, since: old.created))
    replace(groups, with: rest.isEmpty ? nil : GroupArray(rest, created: registry.tick()))
    if isEmpty { leaveHome(&garbage) }
  }

  /// The live registrations of this list and its groups.
  var registrations: [(id: UInt64, list: ObserverList, observer: AnyObserver)] {
    var found: [(id: UInt64, list: ObserverList, observer: AnyObserver)] = []
    if let buffer = currentBuffer {
      for index in 0..<buffer.count where buffer.address(at: index) != 0 {
        let observer = unsafe Self.observer(at: buffer.address(at: index)).takeUnretainedValue()
        found.append((buffer.id(at: index), self, observer))
      }
    }
    for group in currentGroups?.groups ?? [] { found += group.list.registrations }
    return found
  }
}

/// The observers of one list that share a target.
final class TargetGroup: Sendable {
  let target: any DeliveryTarget
  let list: ObserverList

  init(target: any DeliveryTarget, list: ObserverList) {
    self.target = target
    self.list = list
  }
}

/// The groups of a list; replaced as a whole, never changed.
final class GroupArray: Sendable {
  let groups: [TargetGroup]
  let created: UInt64

  init(_ groups: [TargetGroup], created: UInt64) {
    self.groups = groups
    self.created = created
  }

  func first(for mailbox: Mailbox) -> TargetGroup? {
    groups.first { $0.target.mailbox === mailbox }
  }
}
