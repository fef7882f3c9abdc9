import Synchronization

/// The one list that every source is built on: registrations in order, read without a lock.
///
/// Its memory is reclaimed by epochs, with a reservation for each post. `README.md` explains this
/// in the terms of the field, and lists the files in reading order.
///
/// The list's buffer holds the observers that run where the value is posted, or whose values wait in
/// a buffer of their own. Observers on a shared target are in a group for that target, which is also
/// a list. A post leaves one record for the whole group.
///
/// `buffer`, `groups` and the counts are written under the lock of the `registry`. A post reads them
/// between announcing itself and leaving. A subclass is a list in another list or table, its *parent*.
class ObserverList: Retirable, @unchecked Sendable {
  let registry: ObserverRegistry
  let valueType: any Any.Type
  /// The clock's time when this list was made; a post with a lower upper bound does not hold it.
  ///
  /// 0 for a list that is released with its source or its array, or that few posts can still hold.
  let created: UInt64
  /// The address of the list's memory, or 0.
  private let buffer = Atomic<UInt>(0)
  private let groups = Atomic<UInt>(0)
  /// The number of registrations that have not ended, including those in groups.
  private let population = Atomic<Int32>(0)
  /// The number of registrations in the buffer that always queue.
  private let ordered = Atomic<Int32>(0)
  /// The number of registrations in the buffer that run inline where they can.
  private let unordered = Atomic<Int32>(0)
  /// The number of registrations in the buffer that receive the subject.
  private let subjectReceivers = Atomic<Int32>(0)
  /// The first buffer: most lists of subjects never need another.
  private let inline = Entries.Inline()

  @inline(never)
  init(registry: ObserverRegistry, valueType: any Any.Type, created: UInt64 = 0) {
    self.registry = registry
    self.valueType = valueType
    self.created = created
  }

  deinit {
    // SAFETY: no other reference to this list is left, and it owns the buffer, the groups and the
    // observers that the buffer names.
    if let entries {
      for index in 0..<entries.count {
        let address = entries.address(at: index)
        if address != 0 { unsafe Self.observer(at: address).release() }
      }
      if !isInline(entries) { entries.deallocate() }
    }
    // No pair: nobody else has the list.
    Self.release(groups.load(ordering: .relaxed))
  }

  // MARK: The parent

  /// The only subject of the messages that the observers receive, if they are limited to one.
  var subject: SubjectName? { nil }

  /// The outermost list that has this one in it; valid under the lock, while there is a registration.
  var root: ObserverList { self }

  /// Notes in the parent, under the lock, that the population has changed.
  func populationChanged(by change: Int32, _ held: borrowing ObserverRegistry.Held) {}

  /// Removes the list, which has become empty, from its parent.
  func leaveParent(_ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held) {}

  /// Moves the parent, which the list has left, to smaller memory when most of it is empty.
  func shrinkParent(_ held: borrowing ObserverRegistry.Held) -> (any Retirable)? { nil }

  // MARK: Questions of a post

  /// Whether a post would find no observer.
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
  var hasSubjectReceivers: Bool {
    // Pairs with `add`: counted before the clock shows the registration.
    subjectReceivers.load(ordering: .acquiring) > 0
  }
  /// Whether the list has registrations that always queue.
  var hasOrdered: Bool {
    // Pairs with `add`: counted before the clock shows the registration.
    ordered.load(ordering: .acquiring) > 0
  }

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
  var entries: Entries? {
    // Pairs with `rebuild`: the memory is filled.
    Entries(at: buffer.load(ordering: .acquiring))
  }

  var hasGroups: Bool {
    // Pairs with `replace`.
    groups.load(ordering: .acquiring) != 0
  }

  /// The groups to leave records for.
  ///
  /// Valid as `entries` is.
  var currentGroups: GroupArray? { unsafe groupsReference?.takeUnretainedValue() }

  /// The groups to leave records for, for a post that counts no references.
  var groupsReference: Unmanaged<GroupArray>? {
    // Pairs with `replace`: the array is filled.
    let address = groups.load(ordering: .acquiring)
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
    return unsafe Unmanaged.fromOpaque(pointer)
  }

  /// This list and its groups; for a topic, also the lists about one subject.
  func parts(_ held: borrowing ObserverRegistry.Held) -> [ObserverList] {
    [self] + (currentGroups?.groups ?? []).map { $0.list }
  }

  /// The live registrations of this list without its parts.
  func members(_ held: borrowing ObserverRegistry.Held) -> [LiveRegistration] {
    guard let entries else { return [] }
    var found: [LiveRegistration] = []
    for index in 0..<entries.count where entries.address(at: index) != 0 {
      let observer = unsafe observer(at: index, held).takeUnretainedValue()
      let registration = observer.registration(entries.number(at: index), in: self)
      found.append(LiveRegistration(registration: registration, observer: observer))
    }
    return found
  }

  /// The live registrations of lists without their parts.
  static func members(
    of lists: [ObserverList], _ held: borrowing ObserverRegistry.Held
  ) -> [LiveRegistration] {
    lists.flatMap { $0.members(held) }
  }
}

/// The changes of a list.
extension ObserverList {
  /// Makes sure that the next `append` finds room.
  func makeRoom(_ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held) {
    guard let entries else {
      // Pairs with `entries`, as in `rebuild`.
      return buffer.store(Entries(inline).address, ordering: .releasing)
    }
    if entries.count == entries.capacity { garbage.add(rebuild(held)) }
  }

  /// Puts a retained observer at the end; the list owns it from here on.
  func append(
    _ observer: Unmanaged<AnyObserver>, id: UInt64, _ held: borrowing ObserverRegistry.Held
  ) {
    entries!.append(id, UInt(bitPattern: unsafe observer.toOpaque()), held)
    unsafe observer._withUnsafeGuaranteedRef { count($0, 1, held) }
  }

  /// The index of the observer registered as `id`, unless it has ended.
  func index(of id: UInt64, _ held: borrowing ObserverRegistry.Held) -> Int? {
    entries?.index(of: id)
  }

  /// The observer at an index.
  func observer(
    at index: Int, _ held: borrowing ObserverRegistry.Held
  ) -> Unmanaged<AnyObserver> {
    unsafe Self.observer(at: entries!.address(at: index))
  }

  /// Removes a registration from the list, so that no later post finds it.
  ///
  /// - Returns: The observer, which the caller owns from here on.
  func unlink(
    at index: Int, _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) -> Unmanaged<AnyObserver> {
    let observer = unsafe Self.observer(at: entries!.unlink(at: index, held))
    unsafe observer._withUnsafeGuaranteedRef { count($0, -1, held) }
    if isEmpty { leaveParent(&garbage, held) }
    return unsafe observer
  }

  /// Gives memory back after a removal, around the reading of the reservations.
  ///
  /// - Parameter scan: Reads the reservations, and returns the posts in progress.
  @inline(__always)
  func trim(_ held: borrowing ObserverRegistry.Held, _ scan: () -> [Ticket]) -> [Ticket] {
    guard let entries else { return scan() }
    let before = entries.truncate(held)
    let posts = scan()
    if !posts.isEmpty {
      entries.restoreCount(before, upTo: posts.map(\.upperBound).max() ?? 0, held)
    }
    return posts
  }

  /// Moves to a smaller buffer when most of this one is empty.
  ///
  /// The old buffer was in reach of posts until now, so the reservations must be read again.
  func shrink(_ held: borrowing ObserverRegistry.Held) -> (any Retirable)? {
    // It has left its parent, which may be too large now.
    if isEmpty, let old = shrinkParent(held) { return old }
    guard let entries, entries.capacity > 8, liveCount * 4 < entries.capacity else { return nil }
    return rebuild(held)
  }

  /// The number of registrations in the buffer that have not ended.
  private var liveCount: Int {
    // No pair: under the lock.
    let ordered = ordered.load(ordering: .relaxed)
    // No pair: the same.
    return Int(ordered + unordered.load(ordering: .relaxed))
  }

  /// Moves what lives to a new buffer, with room for half as many more; posts in progress finish on
  /// the old one.
  ///
  /// - Returns: The old buffer.
  private func rebuild(_ held: borrowing ObserverRegistry.Held) -> (any Retirable)? {
    let liveCount = liveCount
    let old = entries
    let new = Entries(capacity: liveCount + max(2, liveCount / 2), created: registry.tick(held))
    if let old {
      for index in 0..<old.count {
        let address = old.address(at: index)
        if address != 0 { new.append(old.number(at: index), address, held) }
      }
    }
    new.checkInvariants()
    // Pairs with `entries`: after the memory is filled, and before the reservations are read.
    buffer.store(new.address, ordering: .releasing)
    guard let old, !isInline(old) else { return nil }
    return old.owner
  }

  private func isInline(_ entries: Entries) -> Bool { entries.address == Entries(inline).address }

  private func replace(
    _ word: borrowing Atomic<UInt>, with object: AnyObject?,
    _ held: borrowing ObserverRegistry.Held
  ) {
    let address = object.map { unsafe UInt(bitPattern: Unmanaged.passRetained($0).toOpaque()) }
    // The garbage holds the old one, so that this release cannot be the last.
    // Pairs with `groupsReference`: as `rebuild` does.
    Self.release(word.exchange(address ?? 0, ordering: .acquiringAndReleasing))
  }

  /// Counts an observer of the buffer.
  private func count(
    _ observer: AnyObserver, _ change: Int32, _ held: borrowing ObserverRegistry.Held
  ) {
    if observer.isOrdered {
      add(change, to: ordered, held)
    } else {
      add(change, to: unordered, held)
    }
    if observer.receivesSubject { add(change, to: subjectReceivers, held) }
    addToPopulation(change, held)
  }

  /// Changes a number that no other thread writes, because the lock is held.
  private func add(
    _ change: Int32, to number: borrowing Atomic<Int32>, _ held: borrowing ObserverRegistry.Held
  ) {
    // Pairs with `hasOrdered`, `hasUnordered` and `hasSubjectReceivers`: before the clock shows the
    // registration; and with `isEmpty`, see `addToPopulation`. The lock orders the load with the
    // other stores.
    number.store(number.load(ordering: .relaxed) + change, ordering: .releasing)
  }

  func addToPopulation(_ change: Int32, _ held: borrowing ObserverRegistry.Held) {
    // Pairs with `isEmpty`: stored before the clock shows the registration. The unlock that follows
    // orders it before this thread's later loads.
    add(change, to: population, held)
    populationChanged(by: change, held)
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
    if let group = old?.groups.first(where: { $0.mailbox === mailbox }) { return group }
    let group = TargetGroup(target, mailbox, of: self)
    if let old { garbage.add(old) }
    let new = GroupArray((old?.groups ?? []) + [group], created: registry.tick(held))
    replace(groups, with: new, held)
    return group
  }

  /// Removes a group that has become empty.
  func drop(
    _ list: GroupList, _ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held
  ) {
    guard let old = currentGroups else { return }
    let rest = old.groups.filter { $0.list !== list }
    garbage.add(old)
    let new = rest.isEmpty ? nil : GroupArray(rest, created: registry.tick(held))
    replace(groups, with: new, held)
    if isEmpty { leaveParent(&garbage, held) }
  }
}
