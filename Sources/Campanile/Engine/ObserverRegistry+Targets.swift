/// The observers of one list that share a target.
final class TargetGroup: Sendable {
  let target: any DeliveryTarget
  let mailbox: Mailbox
  let list: GroupList

  init(_ target: any DeliveryTarget, _ mailbox: Mailbox, of parent: ObserverList) {
    self.target = target
    self.mailbox = mailbox
    list = GroupList(of: parent)
    unsafe list.group = Unmanaged.passUnretained(self)
  }
}

/// The list of a group.
///
/// It does not keep the target: what waits in the target's mailbox keeps this list.
@safe final class GroupList: ObserverList, @unchecked Sendable {
  private let name: SubjectName?
  // A source ends all registrations before its lists can go.
  private unowned let parent: ObserverList
  // SAFETY: used by a post that has found the list in its group, whose array its announcement keeps.
  fileprivate(set) var group: Unmanaged<TargetGroup>?

  fileprivate init(of parent: ObserverList) {
    self.parent = parent
    name = parent.subject
    super.init(registry: parent.registry, valueType: parent.valueType)
  }

  /// The group, while the list is in it; valid as `entries` is.
  var targetGroup: TargetGroup? {
    parent.currentGroups?.groups.first { $0.list === self }
  }

  override var subject: SubjectName? { name }

  override var root: ObserverList { parent.root }

  override func populationChanged(by change: Int32, _ held: borrowing ObserverRegistry.Held) {
    parent.addToPopulation(change, held)
  }

  override func leaveParent(_ garbage: inout Garbage, _ held: borrowing ObserverRegistry.Held) {
    parent.drop(self, &garbage, held)
  }

  override func shrinkParent(_ held: borrowing ObserverRegistry.Held) -> (any Retirable)? {
    parent.shrink(held)
  }
}

/// The groups of a list; replaced as a whole, never changed.
final class GroupArray: Retirable {
  let groups: [TargetGroup]
  /// The only group, if there is one.
  let only: TargetGroup?
  let created: UInt64

  init(_ groups: [TargetGroup], created: UInt64) {
    self.groups = groups
    only = groups.count == 1 ? groups[0] : nil
    self.created = created
  }

  func first(for mailbox: Mailbox) -> TargetGroup? {
    groups.first { $0.mailbox === mailbox }
  }
}

/// The record that a post leaves at a target beside the value: it names the observers to call.
///
/// It does not keep its lists alive. The buffer that contains it does, once for all envelopes of a
/// burst.
@safe struct Envelope {
  /// The list of the one observer; otherwise the only list, if nothing but the list is needed.
  fileprivate let only: Unmanaged<ObserverList>?
  /// Everything else: for one observer the post, if it has a subject or details, and otherwise all
  /// without `only`.
  fileprivate let details: Details?
  /// The newest registration that receives the post, or the only one.
  fileprivate let newest: UInt64
  /// Whether the envelope waits in the buffer of one observer, and reaches that one alone.
  fileprivate let isForOne: Bool

  /// The uncommon fields, in a separate object, so that common envelopes are short.
  fileprivate final class Details: Sendable {
    let lists: Route
    let mode: WalkMode
    let post: Post
    /// The value as the observers of any topic receive it, if the envelope is for some.
    let wildcardValue: (any Sendable)?

    init(
      _ lists: Route, _ mode: WalkMode, _ post: consuming Post, _ wildcardValue: (any Sendable)?
    ) {
      self.lists = lists
      self.mode = mode
      self.post = post
      self.wildcardValue = wildcardValue
    }

    /// Which registrations the envelope is for, and whether each is checked now.
    func modeNow(_ registry: ObserverRegistry) -> WalkMode {
      if mode == .ordered { return .ordered }
      return registry.everyone
    }
  }

  init<Wildcard: Sendable>(
    to lists: Route, _ newest: UInt64, _ mode: WalkMode, _ post: borrowing Post,
    _ wildcardValue: WildcardValue<Wildcard>?
  ) {
    self.newest = newest
    isForOne = false
    let isBare = post.subjectID == nil && post.details == nil && wildcardValue == nil
    if isBare, mode == .everyone, lists.onlyID == nil, let only = lists.only {
      unsafe self.only = only.list
      details = nil
    } else {
      unsafe only = nil
      details = Details(lists, mode, copy post, wildcardValue?.value)
    }
  }

  /// An envelope without a receiver, for a value that is read and not delivered.
  init() {
    unsafe only = nil
    (details, newest, isForOne) = (nil, 0, true)
  }

  /// An envelope in the buffer of the observer that is registered as `id` in `list`.
  ///
  /// Its mailbox keeps the list.
  init(_ post: borrowing Post, at id: UInt64, in list: borrowing ObserverList) {
    unsafe only = Unmanaged.passUnretained(copy list)
    newest = id
    isForOne = true
    let isBare = post.subjectID == nil && post.details == nil
    details = isBare ? nil : Details(Route(), .everyone, copy post, nil)
  }

  /// The list and the identifier of the only registration that the envelope is for.
  ///
  /// That is so in the buffer of one observer, and for a request to deliver what was missed.
  var destination: (list: ObserverList?, id: UInt64) {
    (unsafe (only ?? details?.lists.all.list).map { unsafe $0.takeUnretainedValue() }, newest)
  }

  /// Calls `body` with each list that a buffer is to keep for the envelope.
  func forEachKept(_ body: (ObserverList) -> Void) {
    if isForOne { return }
    if let details { details.lists.forEach(body) }
    unsafe only?._withUnsafeGuaranteedRef(body)
  }

  /// Delivers; called on the target.
  ///
  /// - Returns: The call, if it is to be made in a task; with it the delivery ends.
  func deliver<Value>(_ value: Value) -> PreparedCall? {
    if isForOne {
      let post = details?.post ?? Post()
      // SAFETY: the buffer of one observer keeps the list.
      return unsafe only!._withUnsafeGuaranteedRef {
        $0.registry.deliver(value, post, to: newest, in: $0)
      }
    }
    if let details {
      let registry = details.lists.registry
      let section = registry.enter()
      var route = details.lists.reread
      registry.narrow(section)
      let mode = details.modeNow(registry)
      details.post.context.restore {
        if let wildcardValue = details.wildcardValue {
          registry.walk(value, wildcard: wildcardValue, details.post, newest, mode, &route)
        } else {
          registry.walk(value, WildcardValue.absent, details.post, newest, mode, &route)
        }
      }
      registry.exit(section)
      details.post.tracker?.end()
    } else if let only = unsafe only {
      // SAFETY: the buffer that the envelope stands in keeps the list.
      unsafe only._withUnsafeGuaranteedRef { list in
        let registry = list.registry
        let section = registry.enter()
        let cursor = unsafe Cursor(only)
        registry.narrow(section)
        registry.walk(value, Post(), newest, registry.everyone, cursor)
        registry.exit(section)
      }
    }
    return nil
  }

  /// Reports for each of its observers that the delivery is discarded.
  ///
  /// The caller keeps the list of an envelope for one observer.
  @inline(never)
  func noteDropped() {
    if isForOne {
      let post = details?.post ?? Post()
      return unsafe only?._withUnsafeGuaranteedRef {
        let registry = $0.registry
        if registry.isReporting { registry.note(.dropped, of: post, at: newest, in: $0) }
      } ?? ()
    }
    guard let details, details.post.number != 0 else { return }
    details.lists.registry.note(
      .dropped, of: details.post, details.lists, newest,
      details.mode == .ordered ? .ordered : .everyone)
  }

  /// The tracker that waits until the delivery has ended, if any.
  var tracker: DeliveryTracker? { details?.post.tracker }
}

extension Route {
  /// The first list; a post reaches one at least.
  fileprivate var first: Unmanaged<ObserverList> {
    unsafe (all.list ?? about.list ?? wildcard.list ?? wildcardAbout.list).unsafelyUnwrapped
  }

  fileprivate var registry: ObserverRegistry { unsafe first.takeUnretainedValue().registry }

  fileprivate func contains(_ isIncluded: (ObserverList) -> Bool) -> Bool {
    var isFound = false
    forEach { if isIncluded($0) { isFound = true } }
    return isFound
  }
}

// MARK: - Posting

extension ObserverRegistry {
  /// Posts to a list with groups.
  ///
  /// It leaves one record for each target, and calls the observers that run here. Then it calls the
  /// observers on a target that the poster is already on.
  // Not specialized: it would be compiled again for the calls of a multicast, which has no targets.
  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  func postToTargets<Value>(
    _ value: Value, _ post: borrowing Post, _ newest: UInt64, _ mode: WalkMode,
    _ cursor: Cursor, _ section: CriticalSection
  ) {
    // The common case, which needs no array.
    guard let target = cursor.onlyTargetRoute else {
      var route = Route()
      route.all = cursor
      return postToTargets(value, WildcardValue.absent, post, newest, mode, &route, section)
    }
    narrow(section)
    let runsInline = leaveRecord(value, WildcardValue.absent, post, newest, at: target)
    walk(value, post, newest, mode, cursor)
    if runsInline {
      runInline(value, WildcardValue.absent, post, newest, mode, at: target, section)
    }
  }

  /// Leaves the records along a route of several lists.
  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  func postToTargets<Value, Wildcard: Sendable>(
    _ value: Value, _ wildcardValue: WildcardValue<Wildcard>?, _ post: borrowing Post,
    _ newest: UInt64,
    _ mode: WalkMode, _ route: inout Route, _ section: CriticalSection
  ) {
    let targets = route.targetRoutes
    narrow(section)
    let inline = targets.filter { leaveRecord(value, wildcardValue, post, newest, at: $0) }
    walk(value, wildcardValue, post, newest, mode, &route)
    for target in inline {
      runInline(value, wildcardValue, post, newest, mode, at: target, section)
    }
  }

  /// Delivers to one registration alone, where it wants its deliveries.
  func post<Value>(_ value: Value, onlyTo registration: Registration, _ post: Post = Post()) {
    let mode = everyone
    let section = enter()
    let list = registration.list
    let cursor = Cursor(list, only: registration.id)
    // Found before the reservation is narrowed, so that the announcement keeps it. A group that has
    // left its target's list has no registrations either.
    let group = (list as? GroupList)?.targetGroup
    narrow(section)
    let id = registration.id
    if group != nil {
      var target = Route()
      (target.all, target.onlyID) = (Cursor(unread: list), id)
      let runsInline = leaveRecord(value, WildcardValue.absent, post, id, at: target)
      if runsInline { runInline(value, WildcardValue.absent, post, id, mode, at: target, section) }
    } else {
      walk(value, post, id, mode, cursor)
    }
    exit(section)
  }

  /// Leaves a record for the observers that cannot be called here.
  ///
  /// - Returns: Whether the others are to be called by `runInline`.
  private func leaveRecord<Value, Wildcard: Sendable>(
    _ value: Value, _ wildcardValue: WildcardValue<Wildcard>?, _ post: borrowing Post,
    _ newest: UInt64,
    at target: Route
  ) -> Bool {
    // SAFETY: the announcement keeps the group.
    unsafe target.group._withUnsafeGuaranteedRef { group in
      // Decided once for this post, before any observer runs.
      let runsInline =
        group.mailbox.mayBeIdle && target.contains(\.hasUnordered) && group.target.isCurrent
        && group.mailbox.beginInline()
      if runsInline && !target.contains(\.hasOrdered) { return true }
      post.tracker?.begin()
      let queued = runsInline ? WalkMode.ordered : .everyone
      if post.number != 0 { note(.queued, of: post, target, newest, queued) }
      let receivesSubject = post.subjectID != nil && target.contains(\.hasSubjectReceivers)
      let sent = post.kept(withSubject: receivesSubject)
      let envelope = Envelope(
        to: target, newest, queued, sent, unsafe target.wildcard.list == nil ? nil : wildcardValue)
      group.mailbox.append(envelope, value, for: group.target)
      return runsInline
    }
  }

  /// Walks with a value for the observers of any topic whose type is not known.
  fileprivate func walk<Value, Wildcard: Sendable>(
    _ value: Value, wildcard wildcardValue: Wildcard, _ post: borrowing Post, _ newest: UInt64,
    _ mode: WalkMode, _ route: inout Route
  ) {
    WildcardValue.with(wildcardValue) { walk(value, $0, post, newest, mode, &route) }
  }

  private func runInline<Value, Wildcard: Sendable>(
    _ value: Value, _ wildcardValue: WildcardValue<Wildcard>?, _ post: borrowing Post,
    _ newest: UInt64,
    _ mode: WalkMode, at target: Route, _ section: CriticalSection
  ) {
    // Observers have run since the reservation was narrowed: the group may have other memory now.
    widen(section)
    var route = target.reread
    narrow(section)
    walk(value, wildcardValue, post, newest, mode.inline, &route)
    // SAFETY: the announcement keeps the group.
    unsafe target.group._withUnsafeGuaranteedRef { $0.mailbox.endInline(for: $0.target) }
  }
}

extension Route {
  /// The group of a route to one target, which has one.
  fileprivate var group: Unmanaged<TargetGroup> {
    // SAFETY: the route has nothing but the lists of groups, which the announcement keeps.
    unsafe first._withUnsafeGuaranteedRef {
      unsafe unsafeDowncast($0, to: GroupList.self).group.unsafelyUnwrapped
    }
  }

  /// A route to each target of the post, in the order in which the targets were first named.
  fileprivate var targetRoutes: [Route] {
    var routes: [Route] = []
    for index in Self.indices where self[index].hasGroups {
      // The groups of one list have different mailboxes.
      let others = routes.indices
      for group in self[index].listReference.currentGroups?.groups ?? [] {
        let found = others.first {
          unsafe routes[$0].group._withUnsafeGuaranteedRef { $0.mailbox === group.mailbox }
        }
        if found == nil { routes.append(Route()) }
        routes[found ?? routes.count - 1][index] = Cursor(unread: group.list)
      }
    }
    return routes
  }
}

extension Cursor {
  /// The route to the target of a list that has one group.
  fileprivate var onlyTargetRoute: Route? {
    // SAFETY: the announcement keeps the list's groups.
    unsafe listReference.groupsReference?._withUnsafeGuaranteedRef { groups in
      guard let only = groups.only else { return nil }
      var route = Route()
      route.all = Cursor(unread: only.list)
      return route
    }
  }
}
