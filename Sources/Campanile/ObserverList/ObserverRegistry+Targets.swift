/// One target of a post, with the lists that the post found for it.
///
/// Plain words, valid until the post leaves: its announcement keeps the groups and their lists.
@safe struct Stop {
  fileprivate let group: Unmanaged<TargetGroup>
  fileprivate var lists: GroupLists
}

/// The lists of one target that a post reaches.
///
/// They do not keep the target: what waits in its mailbox must not.
@safe struct GroupLists {
  var all: Unmanaged<ObserverList>?
  var about: Unmanaged<ObserverList>?
  var wide: Unmanaged<ObserverList>?
  var wideAbout: Unmanaged<ObserverList>?

  /// The only list, if there is one.
  fileprivate var only: Unmanaged<ObserverList>? {
    switch unsafe (all, about, wide, wideAbout) {
    case (let only?, nil, nil, nil), (nil, let only?, nil, nil), (nil, nil, let only?, nil),
      (nil, nil, nil, let only?):
      unsafe only
    default: nil
    }
  }

  func forEach(_ body: (ObserverList) -> Void) {
    unsafe all?._withUnsafeGuaranteedRef(body)
    unsafe about?._withUnsafeGuaranteedRef(body)
    unsafe wide?._withUnsafeGuaranteedRef(body)
    unsafe wideAbout?._withUnsafeGuaranteedRef(body)
  }

  fileprivate func contains(_ isIncluded: (ObserverList) -> Bool) -> Bool {
    var isFound = false
    forEach { if isIncluded($0) { isFound = true } }
    return isFound
  }

  /// The way through the lists, for a post that has announced itself.
  fileprivate var route: Route {
    var route = Route()
    route.all = unsafe all.map { unsafe route.read($0) }
    route.about = unsafe about.map { unsafe route.read($0) }
    route.wide = unsafe wide.map { unsafe route.read($0) }
    route.wideAbout = unsafe wideAbout.map { unsafe route.read($0) }
    return route
  }
}

/// The record that a post leaves at a target beside the value: it names the observers to call.
///
/// It does not keep its lists alive. The buffer that contains it does, once for all envelopes of a
/// burst.
@safe struct Envelope {
  /// The list, if it is the only one and nothing else is needed; otherwise there are `details`.
  fileprivate let only: Unmanaged<ObserverList>?
  fileprivate let details: Details?
  /// The newest registration that receives the post; for an arrival, the only one.
  fileprivate let newest: UInt64
  /// Whether the envelope waits at the place of one observer, and reaches that one alone.
  fileprivate let isArrival: Bool

  /// The uncommon fields, in a separate object, so that common envelopes are short.
  fileprivate final class Details: Sendable {
    let lists: GroupLists
    let oldest: UInt64
    let portion: Portion
    let post: Post
    /// The message as the observers of any message receive it.
    let wideMessage: MessageCenter.PostedMessage?

    init(
      _ lists: GroupLists, _ oldest: UInt64, _ portion: Portion, _ post: consuming Post,
      _ wideMessage: MessageCenter.PostedMessage?
    ) {
      self.lists = lists
      self.oldest = oldest
      self.portion = portion
      self.post = post
      self.wideMessage = wideMessage
    }

    /// Which registrations the envelope is for, and whether each is checked now.
    func portionNow(_ registry: ObserverRegistry) -> Portion {
      if portion == .ordered { return .ordered }
      return post.skippedID == 0 ? registry.everyone : .everyoneChecked
    }

    /// Calls `body` with the message as observers of any message receive it, if the envelope is for
    /// any.
    func withWideValue(_ body: (WideValue?) -> Void) {
      guard let wideMessage else { return body(nil) }
      unsafe withUnsafePointer(to: wideMessage) { body(unsafe WideValue(at: $0)) }
    }
  }

  init(
    to lists: GroupLists, _ range: ClosedRange<UInt64>, _ portion: Portion = .everyone,
    _ post: borrowing Post, _ wideValue: WideValue? = nil
  ) {
    newest = range.upperBound
    isArrival = false
    let isPlain = post.subjectID == nil && post.details == nil && wideValue == nil
    if isPlain, portion == .everyone, range.lowerBound == 0, let only = unsafe lists.only {
      unsafe self.only = unsafe only
      details = nil
    } else {
      unsafe only = nil
      details = Details(lists, range.lowerBound, portion, copy post, wideValue?.message)
    }
  }

  /// An envelope to nobody, for a value that is read and not delivered.
  init() {
    unsafe only = nil
    (details, newest, isArrival) = (nil, 0, true)
  }

  /// An envelope at the place of the observer that is registered as `id` in `list`.
  ///
  /// Its mailbox keeps the list.
  init(_ post: borrowing Post, at id: UInt64, in list: ObserverList) {
    let list = unsafe Unmanaged.passUnretained(list)
    unsafe only = unsafe list
    newest = id
    isArrival = true
    let isPlain = post.subjectID == nil && post.details == nil
    details =
      isPlain ? nil : Details(unsafe GroupLists(all: list), id, .everyone, copy post, nil)
  }

  /// The only registration that the envelope is for, of an arrival: its list, and its identifier.
  var arrival: (list: ObserverList?, id: UInt64) {
    (unsafe only.map { unsafe $0.takeUnretainedValue() }, newest)
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
      // SAFETY: whoever delivers an arrival keeps the list.
      return unsafe only!._withUnsafeGuaranteedRef {
        $0.registry.arrive(value, post, at: newest, in: $0)
      }
    }
    if let details {
      let registry = details.lists.registry
      let section = registry.enter()
      var route = details.lists.route
      registry.settle(section)
      let portion = details.portionNow(registry)
      details.post.context.restore {
        details.withWideValue { wideValue in
          registry.walk(
            value, wideValue, details.post, details.oldest...newest, portion, &route)
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
        registry.walkAll(value, Post(), upTo: newest, cursor)
        registry.exit(section)
      }
    }
    return nil
  }

  /// Reports for each of its observers that the delivery is discarded.
  ///
  /// The caller keeps the list of an arrival.
  func noteDropped() {
    if isArrival {
      let post = details?.post ?? Post()
      return unsafe only?._withUnsafeGuaranteedRef {
        $0.registry.note(.dropped, of: post, at: newest, in: $0)
      } ?? ()
    }
    guard let details, details.post.number != 0 else { return }
    details.lists.registry.note(
      .dropped, of: details.post, details.lists, details.oldest...newest,
      details.portion == .ordered ? .ordered : .everyone)
  }

  /// The tracker that waits until the delivery has ended, if any.
  var tracker: DeliveryTracker? { details?.post.tracker }
}

extension GroupLists {
  fileprivate var registry: ObserverRegistry {
    // A post reaches one list at least.
    unsafe (all ?? about ?? wide ?? wideAbout)!.takeUnretainedValue().registry
  }
}

// MARK: - Posting

extension ObserverRegistry {
  /// Posts to a list with groups.
  ///
  /// It leaves one record for each target, and calls the observers that run here. Then it calls the
  /// observers on a target that the poster is already on.
  @inline(never)
  func postToTargets<Value>(
    _ value: Value, _ post: borrowing Post, _ newest: UInt64, _ portion: Portion,
    _ cursor: Cursor, _ section: CriticalSection
  ) {
    // The common case, spared the array.
    guard let stop = cursor.onlyStop else {
      var route = Route(only: cursor)
      return postToTargets(value, nil, post, newest, portion, &route, section)
    }
    settle(section)
    let runsInline = leaveRecord(value, nil, post, 0...newest, at: stop)
    walk(value, post, 0...newest, portion, cursor)
    if runsInline { runInline(value, nil, post, 0...newest, portion, at: stop, section) }
  }

  /// Does the same along a route of several lists.
  @inline(never)
  func postToTargets<Value>(
    _ value: Value, _ wideValue: WideValue?, _ post: borrowing Post, _ newest: UInt64,
    _ portion: Portion, _ route: inout Route, _ section: CriticalSection
  ) {
    let stops = route.stops
    settle(section)
    let inline = stops.filter { leaveRecord(value, wideValue, post, 0...newest, at: $0) }
    walk(value, wideValue, post, 0...newest, portion, &route)
    for stop in inline {
      runInline(value, wideValue, post, 0...newest, portion, at: stop, section)
    }
  }

  /// Delivers to one registration alone, where it wants its deliveries.
  func post<Value>(_ value: Value, onlyTo registration: Registration) {
    let portion = everyone
    let section = enter()
    let list = registration.list
    let cursor = unsafe Cursor(Unmanaged.passUnretained(list))
    // Found before the section settles, so that the announcement keeps it. A group that has left
    // its target's list has no registrations either.
    let group = list.targetGroup
    settle(section)
    let range = registration.id...registration.id
    if let group {
      let lists = unsafe GroupLists(all: Unmanaged.passUnretained(list))
      let stop = unsafe Stop(group: Unmanaged.passUnretained(group), lists: lists)
      let runsInline = leaveRecord(value, nil, Post(), range, at: stop)
      if runsInline { runInline(value, nil, Post(), range, portion, at: stop, section) }
    } else {
      walk(value, Post(), range, portion, cursor)
    }
    exit(section)
  }

  /// Leaves a record for the observers that cannot be called here.
  ///
  /// - Returns: Whether the others are to be called by `runInline`.
  private func leaveRecord<Value>(
    _ value: Value, _ wideValue: WideValue?, _ post: borrowing Post, _ range: ClosedRange<UInt64>,
    at stop: Stop
  ) -> Bool {
    // SAFETY: the announcement keeps the group.
    unsafe stop.group._withUnsafeGuaranteedRef { group in
      let lists = stop.lists
      // Decided once for this post, before any observer runs.
      let runsInline =
        group.mailbox.mayBeIdle && lists.contains(\.hasUnordered) && group.target.isCurrent
        && group.mailbox.beginInline()
      if runsInline && !lists.contains(\.hasOrdered) { return true }
      post.tracker?.begin()
      let queued = runsInline ? Portion.ordered : .everyone
      if post.number != 0 { note(.queued, of: post, lists, range, queued) }
      let isTold = post.subjectID != nil && lists.contains(\.hasTold)
      let sent = post.kept(isTold: isTold)
      let envelope = Envelope(
        to: lists, range, queued, sent,
        unsafe lists.wide == nil ? nil : wideValue)
      group.mailbox.append(envelope, value, for: group.target)
      return runsInline
    }
  }

  /// Reports an event of each registration in `lists` whose identifier is in `range`.
  @inline(never)
  fileprivate func note(
    _ kind: SourceEvent.Kind, of post: borrowing Post, _ lists: GroupLists,
    _ range: ClosedRange<UInt64>, _ portion: Portion
  ) {
    if !isWatched { return }
    let section = enter()
    let route = lists.route
    settle(section)
    for cursor in [route.all, route.about, route.wide, route.wideAbout] {
      if let cursor { note(kind, of: post, range, portion, cursor) }
    }
    exit(section)
  }

  private func runInline<Value>(
    _ value: Value, _ wideValue: WideValue?, _ post: borrowing Post, _ range: ClosedRange<UInt64>,
    _ portion: Portion, at stop: Stop, _ section: CriticalSection
  ) {
    // Observers have run since the section settled: the group may have other memory now.
    reopen(section)
    var route = stop.lists.route
    settle(section)
    walk(value, wideValue, post, range, portion.inline, &route)
    // SAFETY: the announcement keeps the group.
    unsafe stop.group._withUnsafeGuaranteedRef { $0.mailbox.endInline(for: $0.target) }
  }
}

extension Route {
  /// The targets that the post stops at, in the order in which they were first named.
  fileprivate var stops: [Stop] {
    var stops: [Stop] = []
    unsafe all?.collectGroups(into: &stops, \.all)
    unsafe about?.collectGroups(into: &stops, \.about)
    unsafe wide?.collectGroups(into: &stops, \.wide)
    unsafe wideAbout?.collectGroups(into: &stops, \.wideAbout)
    return stops
  }
}

extension Cursor {
  /// The stop of a list that has one group.
  fileprivate var onlyStop: Stop? {
    // SAFETY: the announcement keeps the list's groups.
    unsafe listReference.groupsReference?._withUnsafeGuaranteedRef { groups in
      guard let only = groups.only else { return nil }
      return unsafe Stop(
        group: Unmanaged.passUnretained(only),
        lists: GroupLists(all: Unmanaged.passUnretained(only.list)))
    }
  }

  /// Adds the groups of this cursor's list to the stops of a post.
  fileprivate func collectGroups(
    into stops: inout [Stop],
    _ place: WritableKeyPath<GroupLists, Unmanaged<ObserverList>?>
  ) {
    guard hasGroups, let groups = listReference.currentGroups else { return }
    for group in groups.groups {
      let list = unsafe Unmanaged.passUnretained(group.list)
      let index = stops.firstIndex {
        unsafe $0.group._withUnsafeGuaranteedRef { $0.mailbox === group.mailbox }
      }
      if let index {
        unsafe stops[index].lists[keyPath: place] = unsafe list
      } else {
        var lists = GroupLists()
        unsafe lists[keyPath: place] = unsafe list
        stops.append(unsafe Stop(group: Unmanaged.passUnretained(group), lists: lists))
      }
    }
  }
}

/// The observers of one list that share a target.
final class TargetGroup: Sendable {
  let target: any DeliveryTarget
  let mailbox: Mailbox
  let list: ObserverList

  init(target: any DeliveryTarget, mailbox: Mailbox, list: ObserverList) {
    self.target = target
    self.mailbox = mailbox
    self.list = list
  }
}

/// The groups of a list; replaced as a whole, never changed.
final class GroupArray: Sendable {
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
