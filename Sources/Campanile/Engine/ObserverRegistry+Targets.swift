/// The record that a post leaves at a target beside the value: it names the observers to call.
///
/// It does not keep its lists alive. The buffer that contains it does, once for all envelopes of a
/// burst.
@safe struct Envelope {
  /// The list of an arrival; otherwise the only list, if nothing but the list is needed.
  fileprivate let only: Unmanaged<ObserverList>?
  /// Everything else: of an arrival the post if it is not plain, and otherwise all without `only`.
  fileprivate let details: Details?
  /// The newest registration that receives the post; for an arrival, the only one.
  fileprivate let newest: UInt64
  /// Whether the envelope waits at the place of one observer, and reaches that one alone.
  fileprivate let isArrival: Bool

  /// The uncommon fields, in a separate object, so that common envelopes are short.
  fileprivate final class Details: Sendable {
    let lists: Route
    let portion: Portion
    let post: Post
    /// The value as the observers of any topic receive it, if the envelope is for some.
    let wideValue: (any Sendable)?

    init(
      _ lists: Route, _ portion: Portion, _ post: consuming Post, _ wideValue: (any Sendable)?
    ) {
      self.lists = lists
      self.portion = portion
      self.post = post
      self.wideValue = wideValue
    }

    /// Which registrations the envelope is for, and whether each is checked now.
    func portionNow(_ registry: ObserverRegistry) -> Portion {
      if portion == .ordered { return .ordered }
      return registry.everyone
    }
  }

  init<Wide: Sendable>(
    to lists: Route, _ newest: UInt64, _ portion: Portion, _ post: borrowing Post,
    _ wideValue: WideValue<Wide>?
  ) {
    self.newest = newest
    isArrival = false
    let isPlain = post.subjectID == nil && post.details == nil && wideValue == nil
    if isPlain, portion == .everyone, lists.onlyID == nil, let only = lists.only {
      unsafe self.only = only.list
      details = nil
    } else {
      unsafe only = nil
      details = Details(lists, portion, copy post, wideValue?.value)
    }
  }

  /// An envelope without a receiver, for a value that is read and not delivered.
  init() {
    unsafe only = nil
    (details, newest, isArrival) = (nil, 0, true)
  }

  /// An envelope at the place of the observer that is registered as `id` in `list`.
  ///
  /// Its mailbox keeps the list.
  init(_ post: borrowing Post, at id: UInt64, in list: borrowing ObserverList) {
    unsafe only = Unmanaged.passUnretained(copy list)
    newest = id
    isArrival = true
    let isPlain = post.subjectID == nil && post.details == nil
    details = isPlain ? nil : Details(Route(), .everyone, copy post, nil)
  }

  /// The list and the identifier of the only registration that the envelope is for.
  ///
  /// That is so for an arrival, and for a request to tell what was missed.
  var destination: (list: ObserverList?, id: UInt64) {
    (unsafe (only ?? details?.lists.all.list).map { unsafe $0.takeUnretainedValue() }, newest)
  }

  /// Calls `body` with each list that a buffer is to keep for the envelope.
  func forEachKept(_ body: (ObserverList) -> Void) {
    if isArrival { return }
    if let details { details.lists.forEach(body) }
    unsafe only?._withUnsafeGuaranteedRef(body)
  }

  /// Delivers; called on the target.
  ///
  /// - Returns: The call, if it is to be made in a task; with it the delivery ends.
  func deliver<Value>(_ value: Value) -> PreparedCall? {
    if isArrival {
      let post = details?.post ?? Post()
      // SAFETY: the code that delivers an arrival keeps the list.
      return unsafe only!._withUnsafeGuaranteedRef {
        $0.registry.arrive(value, post, at: newest, in: $0)
      }
    }
    if let details {
      let registry = details.lists.registry
      let section = registry.enter()
      var route = details.lists.reread
      registry.settle(section)
      let portion = details.portionNow(registry)
      details.post.context.restore {
        if let wideValue = details.wideValue {
          registry.walk(value, widely: wideValue, details.post, newest, portion, &route)
        } else {
          registry.walk(value, WideValue.absent, details.post, newest, portion, &route)
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
        registry.settle(section)
        registry.walk(value, Post(), newest, registry.everyone, cursor)
        registry.exit(section)
      }
    }
    return nil
  }

  /// Reports for each of its observers that the delivery is discarded.
  ///
  /// The caller keeps the list of an arrival.
  @inline(never)
  func noteDropped() {
    if isArrival {
      let post = details?.post ?? Post()
      return unsafe only?._withUnsafeGuaranteedRef {
        $0.registry.note(.dropped, of: post, at: newest, in: $0)
      } ?? ()
    }
    guard let details, details.post.number != 0 else { return }
    details.lists.registry.note(
      .dropped, of: details.post, details.lists, newest,
      details.portion == .ordered ? .ordered : .everyone)
  }

  /// The tracker that waits until the delivery has ended, if any.
  var tracker: DeliveryTracker? { details?.post.tracker }
}

extension Route {
  /// The first list; a post reaches one at least.
  fileprivate var first: Unmanaged<ObserverList> {
    unsafe (all.list ?? about.list ?? wide.list ?? wideAbout.list).unsafelyUnwrapped
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
    _ value: Value, _ post: borrowing Post, _ newest: UInt64, _ portion: Portion,
    _ cursor: Cursor, _ section: CriticalSection
  ) {
    // The common case, which needs no array.
    guard let stop = cursor.onlyStop else {
      var route = Route()
      route.all = cursor
      return postToTargets(value, WideValue.absent, post, newest, portion, &route, section)
    }
    settle(section)
    let runsInline = leaveRecord(value, WideValue.absent, post, newest, at: stop)
    walk(value, post, newest, portion, cursor)
    if runsInline {
      runInline(value, WideValue.absent, post, newest, portion, at: stop, section)
    }
  }

  /// Leaves the records along a route of several lists.
  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  func postToTargets<Value, Wide: Sendable>(
    _ value: Value, _ wideValue: WideValue<Wide>?, _ post: borrowing Post, _ newest: UInt64,
    _ portion: Portion, _ route: inout Route, _ section: CriticalSection
  ) {
    let stops = route.stops
    settle(section)
    let inline = stops.filter { leaveRecord(value, wideValue, post, newest, at: $0) }
    walk(value, wideValue, post, newest, portion, &route)
    for stop in inline {
      runInline(value, wideValue, post, newest, portion, at: stop, section)
    }
  }

  /// Delivers to one registration alone, where it wants its deliveries.
  func post<Value>(_ value: Value, onlyTo registration: Registration, _ post: Post = Post()) {
    let portion = everyone
    let section = enter()
    let list = registration.list
    let cursor = Cursor(list, only: registration.id)
    // Found before the section settles, so that the announcement keeps it. A group that has left
    // its target's list has no registrations either.
    let group = (list as? GroupList)?.targetGroup
    settle(section)
    let id = registration.id
    if group != nil {
      var stop = Route()
      (stop.all, stop.onlyID) = (Cursor(unread: list), id)
      let runsInline = leaveRecord(value, WideValue.absent, post, id, at: stop)
      if runsInline { runInline(value, WideValue.absent, post, id, portion, at: stop, section) }
    } else {
      walk(value, post, id, portion, cursor)
    }
    exit(section)
  }

  /// Leaves a record for the observers that cannot be called here.
  ///
  /// - Returns: Whether the others are to be called by `runInline`.
  private func leaveRecord<Value, Wide: Sendable>(
    _ value: Value, _ wideValue: WideValue<Wide>?, _ post: borrowing Post, _ newest: UInt64,
    at stop: Route
  ) -> Bool {
    // SAFETY: the announcement keeps the group.
    unsafe stop.group._withUnsafeGuaranteedRef { group in
      // Decided once for this post, before any observer runs.
      let runsInline =
        group.mailbox.mayBeIdle && stop.contains(\.hasUnordered) && group.target.isCurrent
        && group.mailbox.beginInline()
      if runsInline && !stop.contains(\.hasOrdered) { return true }
      post.tracker?.begin()
      let queued = runsInline ? Portion.ordered : .everyone
      if post.number != 0 { note(.queued, of: post, stop, newest, queued) }
      let isTold = post.subjectID != nil && stop.contains(\.hasTold)
      let sent = post.kept(isTold: isTold)
      let envelope = Envelope(
        to: stop, newest, queued, sent, unsafe stop.wide.list == nil ? nil : wideValue)
      group.mailbox.append(envelope, value, for: group.target)
      return runsInline
    }
  }

  /// Walks with a value for the observers of any topic whose type is not known.
  fileprivate func walk<Value, Wide: Sendable>(
    _ value: Value, widely wideValue: Wide, _ post: borrowing Post, _ newest: UInt64,
    _ portion: Portion, _ route: inout Route
  ) {
    WideValue.with(wideValue) { walk(value, $0, post, newest, portion, &route) }
  }

  private func runInline<Value, Wide: Sendable>(
    _ value: Value, _ wideValue: WideValue<Wide>?, _ post: borrowing Post, _ newest: UInt64,
    _ portion: Portion, at stop: Route, _ section: CriticalSection
  ) {
    // Observers have run since the section settled: the group may have other memory now.
    reopen(section)
    var route = stop.reread
    settle(section)
    walk(value, wideValue, post, newest, portion.inline, &route)
    // SAFETY: the announcement keeps the group.
    unsafe stop.group._withUnsafeGuaranteedRef { $0.mailbox.endInline(for: $0.target) }
  }
}

extension Route {
  /// The group of a stop, which is a route through the groups of one target.
  fileprivate var group: Unmanaged<TargetGroup> {
    // SAFETY: stops have nothing but the lists of groups, which the announcement keeps.
    unsafe first._withUnsafeGuaranteedRef {
      unsafe unsafeDowncast($0, to: GroupList.self).group.unsafelyUnwrapped
    }
  }

  /// The targets that the post stops at, in the order in which they were first named.
  fileprivate var stops: [Route] {
    var stops: [Route] = []
    for place in Self.places where self[place].hasGroups {
      // The groups of one list have different mailboxes.
      let others = stops.indices
      for group in self[place].listReference.currentGroups?.groups ?? [] {
        let index = others.first {
          unsafe stops[$0].group._withUnsafeGuaranteedRef { $0.mailbox === group.mailbox }
        }
        if index == nil { stops.append(Route()) }
        stops[index ?? stops.count - 1][place] = Cursor(unread: group.list)
      }
    }
    return stops
  }
}

extension Cursor {
  /// The stop of a list that has one group.
  fileprivate var onlyStop: Route? {
    // SAFETY: the announcement keeps the list's groups.
    unsafe listReference.groupsReference?._withUnsafeGuaranteedRef { groups in
      guard let only = groups.only else { return nil }
      var stop = Route()
      stop.all = Cursor(unread: only.list)
      return stop
    }
  }
}
