import Synchronization

/// The one list that every source is built on: registrations in order, read without a lock.
///
/// Its memory is reclaimed by epochs, with a reservation for each post. `README.md` explains this
/// in the terms of the field, and lists the files in reading order.
///
/// The list's buffer holds the observers that run where the value is posted, or that have their own
/// place. Observers on a shared target are in a group for that target, which is also a list. A post
/// leaves one record for the whole group.
///
/// What changes is written under the lock of the `registry`: `buffer`, `groups`, the counts, and
/// the two plain fields. A post reads the atomic ones between announcing itself and leaving.
class ObserverList: @unchecked Sendable {
  /// The topic of the list, for descriptions and for removal by owner and type.
  struct Topic: Sendable {
    var value: any Any.Type
    var subject: SubjectName?
  }

  let registry: ObserverRegistry
  let topic: Topic
  /// The clock's time when this list was made; a post with a lower upper bound does not hold it.
  ///
  /// 0 for a list that is not put aside by itself, but with its source or its group.
  let created: UInt64
  /// Where the list leaves when its last registration has ended.
  let home: Home
  /// The address of the list's memory, or 0.
  private let buffer = Atomic<UInt>(0)
  private let groups = Atomic<UInt>(0)
  /// The number of registrations that have not ended, including those in groups.
  private let population = Atomic<Int>(0)
  /// The number of registrations in the buffer that always queue.
  private let ordered = Atomic<Int>(0)
  /// The number of registrations in the buffer that run inline where they can.
  private let unordered = Atomic<Int>(0)
  /// The number of registrations in the buffer that receive the subject.
  private let told = Atomic<Int>(0)
  /// The number of registrations in the buffer that have not ended.
  ///
  /// Protected by the registry's lock.
  private var liveCount = 0
  /// Reserves the address of the subject, until the list has left its home.
  ///
  /// Protected by the registry's lock.
  private var hold: SubjectHold?

  /// Which object releases a list that has become empty.
  enum Home {
    /// None: the list lives as long as its source.
    case source
    /// The list in which this one is the group of a target.
    case list(Unowned<ObserverList>)
    /// The index by subject that contains this list.
    case index(Unowned<SubjectIndex>)
    /// None, as for a source; this registry is notified whether its events are observed here.
    case events(Unowned<ObserverRegistry>)
  }

  struct Unowned<Object: AnyObject> {
    unowned let object: Object
  }

  init(
    registry: ObserverRegistry, topic: Topic, hold: consuming SubjectHold? = nil,
    home: Home = .source, created: UInt64 = 0
  ) {
    self.registry = registry
    self.topic = topic
    self.hold = hold
    self.home = home
    self.created = created
  }

  deinit {
    // SAFETY: nobody else has this list, and it owns the buffer, the groups and what the buffer
    // names.
    if let entries {
      for index in 0..<entries.count {
        let address = entries.observer(at: index)
        if address != 0 { unsafe Self.observer(at: address).release() }
      }
      unsafe Unmanaged.passUnretained(entries.buffer).release()
    }
    // No pair: nobody else has the list.
    Self.release(groups.load(ordering: .relaxed))
  }

  /// Whether a post would find nobody.
  @inline(__always)
  var isEmpty: Bool {
    // Pairs with `addToPopulation`: the question is asked after this thread's earlier stores.
    population.load(ordering: .sequentiallyConsistent) == 0
  }
  /// Whether the list has registrations that run inline where they can.
  var hasUnordered: Bool {
    // Pairs with `add`: counted before the clock shows the registration.
    unordered.load(ordering: .acquiring) > 0
  }
  /// Whether the list has registrations that receive the subject.
  var hasTold: Bool {
    // Pairs with `add`: counted before the clock shows the registration.
    told.load(ordering: .acquiring) > 0
  }
  /// Whether the list has registrations that always queue.
  var hasOrdered: Bool {
    // Pairs with `add`: counted before the clock shows the registration.
    ordered.load(ordering: .acquiring) > 0
  }

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

  /// The memory to walk.
  ///
  /// Valid under the lock, or until an announced post leaves.
  @inline(__always)
  var entries: Entries? {
    // Pairs with `rebuild`: the memory is filled.
    Entries(at: buffer.load(ordering: .acquiring))
  }

  @inline(__always)
  var hasGroups: Bool {
    // Pairs with `replace`.
    groups.load(ordering: .acquiring) != 0
  }

  /// The groups to leave records for.
  ///
  /// Valid as `entries` is.
  @inline(__always)
  var currentGroups: GroupArray? { unsafe groupsReference?.takeUnretainedValue() }

  /// The groups to leave records for, for a post that counts no references.
  @inline(__always)
  var groupsReference: Unmanaged<GroupArray>? {
    // Pairs with `replace`: the array is filled.
    let address = groups.load(ordering: .acquiring)
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
    return unsafe Unmanaged.fromOpaque(pointer)
  }

  /// The group that this list is, if it is one.
  ///
  /// Valid as `entries` is.
  var targetGroup: TargetGroup? {
    guard case .list(let parent) = home else { return nil }
    return parent.object.currentGroups?.groups.first { $0.list === self }
  }

  /// The live registrations of this list and its groups.
  func registrations(_ held: borrowing ObserverRegistry.Held) -> [LiveRegistration] {
    var found: [LiveRegistration] = []
    if let entries {
      for index in 0..<entries.count where entries.observer(at: index) != 0 {
        let observer = unsafe observer(at: index, held).takeUnretainedValue()
        let registration = Registration(
          list: self, id: entries.id(at: index), counters: observer.details?.counters)
        found.append(LiveRegistration(registration: registration, observer: observer))
      }
    }
    for group in currentGroups?.groups ?? [] { found += group.list.registrations(held) }
    return found
  }
}

/// What changes a list.
extension ObserverList {
  /// Makes sure that the next `append` finds a place.
  func makeRoom(_ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held) {
    if let entries, entries.count < entries.capacity { return }
    if let old = rebuild(held) { garbage.structures.append(old) }
  }

  /// Puts a retained observer at the end; the list owns it from here on.
  func append(
    _ observer: Unmanaged<AnyObserver>, id: UInt64, _ held: borrowing ObserverRegistry.Held
  ) {
    entries!.append(id: id, observer: UInt(bitPattern: unsafe observer.toOpaque()), held)
    liveCount += 1
    unsafe observer._withUnsafeGuaranteedRef { count($0, 1, held) }
    addToPopulation(1, held)
  }

  /// Takes over an observer that was alone with its subject, as the first of this list.
  func adopt(
    _ single: Single, _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) {
    makeRoom(&garbage, held)
    unsafe append(Self.observer(at: single.address), id: single.id, held)
  }

  /// The place of the observer registered as `id`, unless it has ended.
  func place(of id: UInt64, _ held: borrowing ObserverRegistry.Held) -> Int? {
    entries?.index(of: id)
  }

  /// The observer at a place.
  func observer(
    at place: Int, _ held: borrowing ObserverRegistry.Held
  ) -> Unmanaged<AnyObserver> {
    unsafe Self.observer(at: entries!.observer(at: place))
  }

  /// Removes a registration from the list, so that no later post finds it.
  ///
  /// - Returns: The observer, which the caller owns from here on.
  func take(at place: Int, _ held: borrowing ObserverRegistry.Held) -> Unmanaged<AnyObserver> {
    let observer = unsafe Self.observer(at: entries!.take(at: place, held))
    liveCount -= 1
    unsafe observer._withUnsafeGuaranteedRef { count($0, -1, held) }
    addToPopulation(-1, held)
    return unsafe observer
  }

  /// Gives memory back after a removal, around the reading of the reservations.
  ///
  /// - Parameter scan: Reads the reservations, and returns the posts in progress.
  @inline(__always)
  func trim(_ held: borrowing ObserverRegistry.Held, _ scan: () -> [Ticket]) -> [Ticket] {
    guard let entries else { return scan() }
    let before = entries.withdraw(held)
    let posts = scan()
    if !posts.isEmpty { entries.restore(before, upTo: posts.map(\.upper).max() ?? 0, held) }
    return posts
  }

  /// Moves to a smaller buffer when most of this one is empty.
  ///
  /// The old buffer was in reach of posts until now, so the reservations must be read again.
  func shrink(_ held: borrowing ObserverRegistry.Held) -> Garbage.Piece? {
    if isEmpty {
      // It has left its home, which may be too large now.
      switch home {
      case .source, .events: break
      case .list(let parent): return parent.object.shrink(held)
      case .index(let index): return index.object.shrink(held)
      }
    }
    guard let entries, entries.capacity > 8, liveCount * 4 < entries.capacity else { return nil }
    return rebuild(held)
  }

  /// Moves what lives to a new buffer, with room for half as many more; posts in progress finish on
  /// the old one.
  ///
  /// - Returns: The old buffer.
  private func rebuild(_ held: borrowing ObserverRegistry.Held) -> Garbage.Piece? {
    let capacity = liveCount + max(2, liveCount / 2)
    let old = entries
    let new = EntryBuffer(capacity: capacity, created: registry.tick(held))
    if let old {
      for index in 0..<old.count {
        let observer = old.observer(at: index)
        if observer != 0 { new.entries.append(id: old.id(at: index), observer: observer, held) }
      }
    }
    new.entries.checkInvariants()
    _ = unsafe Unmanaged.passRetained(new)
    // Pairs with `entries`: after the memory is filled, and before the reservations are read.
    buffer.store(new.entries.address, ordering: .releasing)
    guard let old else { return nil }
    let left = old.buffer
    // The caller holds it, so that this release cannot be the last.
    unsafe Unmanaged.passUnretained(left).release()
    return (left, since: old.created)
  }

  private func replace(
    _ place: borrowing Atomic<UInt>, with object: AnyObject?,
    _ held: borrowing ObserverRegistry.Held
  ) {
    let address = object.map { unsafe UInt(bitPattern: Unmanaged.passRetained($0).toOpaque()) }
    // The garbage holds the old one, so that this release cannot be the last.
    // Pairs with `groupsReference`: as `rebuild` does.
    Self.release(place.exchange(address ?? 0, ordering: .acquiringAndReleasing))
  }

  private func count(
    _ observer: AnyObserver, _ change: Int, _ held: borrowing ObserverRegistry.Held
  ) {
    if observer.isOrdered {
      add(change, to: ordered, held)
    } else {
      add(change, to: unordered, held)
    }
    if observer.isTold { add(change, to: told, held) }
  }

  /// Changes a number that nobody else writes, since the lock is held.
  private func add(
    _ change: Int, to number: borrowing Atomic<Int>, _ held: borrowing ObserverRegistry.Held
  ) {
    // Pairs with `isEmpty` and `hasOrdered`. The lock orders the load with the other stores.
    number.store(number.load(ordering: .relaxed) + change, ordering: .releasing)
  }

  private func addToPopulation(_ change: Int, _ held: borrowing ObserverRegistry.Held) {
    // Asked before a post announces itself, and stored before the clock shows the registration: no
    // part of any pair of stores and loads.
    add(change, to: population, held)
    if case .source = home { return }
    tellHome(of: change, held)
  }

  @inline(never)
  private func tellHome(of change: Int, _ held: borrowing ObserverRegistry.Held) {
    switch home {
    case .list(let parent): parent.object.addToPopulation(change, held)
    // A source ends these registrations before its registry can go.
    case .events(let watched): watched.object.setWatched(!isEmpty, held)
    case .source, .index: break
    }
  }

  /// The group of the observers on `target`, made if there is none.
  ///
  /// - Parameter mailbox: The target's, which was asked for outside the lock: the target is
  ///   foreign.
  func group(
    for target: any DeliveryTarget, _ mailbox: Mailbox, _ garbage: inout Garbage,
    _ held: borrowing ObserverRegistry.Held
  ) -> TargetGroup {
    let old = currentGroups
    if let group = old?.first(for: mailbox) { return group }
    let list = ObserverList(
      registry: registry, topic: topic, home: .list(Unowned(object: self)))
    let group = TargetGroup(target: target, mailbox: mailbox, list: list)
    if let old { garbage.structures.append((old, since: old.created)) }
    let new = GroupArray((old?.groups ?? []) + [group], created: registry.tick(held))
    replace(groups, with: new, held)
    return group
  }

  /// Removes the list, which has become empty, from its parent list or index.
  func leaveHome(_ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held) {
    switch home {
    case .source, .events: break
    case .list(let parent): parent.object.dropGroup(of: self, &garbage, held)
    case .index(let index):
      hold = nil
      index.object.remove(self, &garbage, held)
    }
  }

  private func dropGroup(
    of list: ObserverList, _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) {
    guard let old = currentGroups else { return }
    let rest = old.groups.filter { $0.list !== list }
    garbage.structures.append((old, since: old.created))
    let new = rest.isEmpty ? nil : GroupArray(rest, created: registry.tick(held))
    replace(groups, with: new, held)
    if isEmpty { leaveHome(&garbage, held) }
  }
}
