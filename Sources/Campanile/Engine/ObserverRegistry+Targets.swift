/// The observers of one list that share a target, and that always queue or run inline where they can.
final class TargetGroup: Sendable {
  let target: any DeliveryTarget
  let mailbox: Mailbox
  /// Whether deliveries queue even if the poster is on the target already.
  let isOrdered: Bool
  let list: GroupList

  init(
    _ target: any DeliveryTarget, _ mailbox: Mailbox, isOrdered: Bool, of parent: ObserverList
  ) {
    self.target = target
    self.mailbox = mailbox
    self.isOrdered = isOrdered
    list = GroupList(of: parent)
    unsafe list.group = Unmanaged.passUnretained(self)
  }

  func isFor(_ mailbox: Mailbox, isOrdered: Bool) -> Bool {
    self.mailbox === mailbox && self.isOrdered == isOrdered
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
}

/// The lists that a post reaches: those of its topic, and those of any topic.
///
/// A mailbox has routes too, for a target that the post reaches: their lists are groups. They keep
/// neither the target nor the groups.
///
/// It is not generic, because the layout of a generic type would have to be looked up at each post.
/// This holds for everything else that a post has on its stack, except the value.
struct Route: Sendable {
  var all = Cursor()
  /// The observers about the subject.
  var about = Cursor()
  /// The observers of any topic.
  var wildcard = Cursor()
  /// The observers of any topic about the subject.
  var wildcardAbout = Cursor()

  /// The registration that the route is for, in `all`, if it is for one alone.
  var onlyID: UInt64?
  /// Whether one of these lists has observers that run elsewhere.
  private(set) var hasGroups = false

  /// The cursor with this number.
  subscript(index: Int) -> Cursor {
    get { index == 0 ? all : index == 1 ? about : index == 2 ? wildcard : wildcardAbout }
    set {
      switch index {
      case 0: all = newValue
      case 1: about = newValue
      case 2: wildcard = newValue
      default: wildcardAbout = newValue
      }
    }
  }
  static let indices = 0..<4

  /// Reads a list that an announced post has found.
  @inline(__always)
  mutating func read(_ list: Unmanaged<ObserverList>) -> Cursor {
    let cursor = unsafe Cursor(list)
    if cursor.hasGroups { hasGroups = true }
    return cursor
  }

  /// Adds the lists of a topic, for a post that has announced itself: the one of any subject, and the
  /// one of `subject`.
  ///
  /// - Parameter all: Where the first of the two stands, the other behind it.
  @inline(__always)
  mutating func find(_ subject: ObjectIdentifier?, in topic: TopicList, at all: Int) {
    if !topic.isEmpty { self[all] = unsafe read(Unmanaged.passUnretained(topic)) }
    if let subject, let list = unsafe topic.find(subject) { self[all + 1] = unsafe read(list) }
  }

  /// The only list; `nil` if there are none or several.
  var only: Cursor? {
    var only: Cursor?
    for index in Self.indices where unsafe self[index].list != nil {
      if only != nil { return nil }
      only = self[index]
    }
    return only
  }

  /// The lists read again, by a post that has announced itself.
  var reread: Route {
    var route = self
    if let onlyID {
      route.all = Cursor(all.listReference, only: onlyID)
    } else {
      for index in Self.indices {
        if let list = unsafe self[index].list { route[index] = unsafe route.read(list) }
      }
    }
    return route
  }

  func forEach(_ body: (ObserverList) -> Void) {
    for index in Self.indices { unsafe self[index].list?._withUnsafeGuaranteedRef(body) }
  }
}

/// A value as observers of any topic receive it; made once for a post, if there are any.
///
/// A word. The value stays where the post has it, on the stack, until the post returns.
@safe struct WildcardValue<Wildcard: Sendable> {
  // SAFETY: the poster keeps the value in place for as long as this and its copies live.
  private let place: UnsafePointer<Wildcard>

  private init(at place: UnsafePointer<Wildcard>) { unsafe self.place = place }

  /// Calls `body` with a value that stays in place meanwhile.
  @inline(__always)
  static func with(_ value: Wildcard, _ body: (WildcardValue) -> Void) {
    unsafe withUnsafePointer(to: value) { body(unsafe WildcardValue(at: $0)) }
  }

  var value: Wildcard {
    @inline(__always) unsafeAddress { unsafe place }
  }
}

extension WildcardValue<Never> {
  /// No value, for a post that no observer of any topic receives.
  static var absent: WildcardValue? { nil }
}

extension Route {
  /// The first list; a post reaches one at least.
  fileprivate var first: Unmanaged<ObserverList> {
    unsafe (all.list ?? about.list ?? wildcard.list ?? wildcardAbout.list).unsafelyUnwrapped
  }

  var registry: ObserverRegistry { unsafe first.takeUnretainedValue().registry }

  fileprivate var hasSubjectReceivers: Bool {
    var isFound = false
    forEach { if $0.hasSubjectReceivers { isFound = true } }
    return isFound
  }
}

// MARK: - Posting

extension ObserverRegistry {
  /// Posts to a list with groups.
  ///
  /// It leaves a record for each group of a target, and calls the observers that run here. Then it
  /// calls the observers on a target that the poster is already on.
  // Not specialized: it would be compiled again for the calls of a multicast, which has no targets.
  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  func postToTargets<Value>(
    _ value: Value, _ post: borrowing Post, _ cursor: Cursor, _ section: CriticalSection
  ) {
    // The common case, which needs no array.
    guard let target = cursor.onlyTargetRoute else {
      var route = Route(all: cursor)
      return postToTargets(value, WildcardValue.absent, post, &route, section)
    }
    narrow(section)
    let runsInline = leaveRecord(value, WildcardValue.absent, post, section, at: target)
    walk(value, post, section, cursor)
    if runsInline {
      runInline(value, WildcardValue.absent, post, section, at: target)
    }
  }

  /// Leaves the records along a route of several lists.
  @inline(never)
  @_semantics("optimize.sil.specialize.generic.never")
  func postToTargets<Value, Wildcard: Sendable>(
    _ value: Value, _ wildcardValue: WildcardValue<Wildcard>?, _ post: borrowing Post,
    _ route: inout Route, _ section: CriticalSection
  ) {
    let targets = route.targetRoutes
    narrow(section)
    let inline = targets.filter { leaveRecord(value, wildcardValue, post, section, at: $0) }
    walk(value, wildcardValue, post, section, &route)
    for target in inline {
      runInline(value, wildcardValue, post, section, at: target)
    }
  }

  /// Delivers to one registration alone, where it wants its deliveries.
  func post<Value>(_ value: Value, onlyTo registration: Registration) {
    let (list, id, post) = (registration.list, registration.id, Post())
    let section = enter(upTo: id, checked: isReporting)
    let cursor = Cursor(list, only: id)
    // Found before the reservation is narrowed, so that the announcement keeps it. A group that has
    // left its target's list has no registrations either.
    let group = (list as? GroupList)?.targetGroup
    narrow(section)
    if group != nil {
      let target = Route(all: Cursor(unread: list), onlyID: id)
      if leaveRecord(value, WildcardValue.absent, post, section, at: target) {
        runInline(value, WildcardValue.absent, post, section, at: target)
      }
    } else {
      walk(value, post, section, cursor)
    }
    exit(section)
  }

  /// Leaves a record for the observers of a target, unless the poster is there and they run inline.
  ///
  /// - Returns: Whether they are to be called by `runInline`.
  private func leaveRecord<Value, Wildcard: Sendable>(
    _ value: Value, _ wildcardValue: WildcardValue<Wildcard>?, _ post: borrowing Post,
    _ section: CriticalSection, at target: Route
  ) -> Bool {
    // SAFETY: the announcement keeps the group.
    unsafe target.group._withUnsafeGuaranteedRef { group in
      // Decided once for this post, before any observer runs.
      if !group.isOrdered && group.mailbox.mayBeIdle && group.target.isCurrent,
        group.mailbox.beginInline()
      {
        return true
      }
      post.tracker?.begin()
      if post.number != 0 { note(.queued, of: post, target, section.watermark) }
      let sent = post.kept(withSubject: post.subjectID != nil && target.hasSubjectReceivers)
      let envelope = Envelope(
        to: target, section.watermark, sent,
        unsafe target.wildcard.list == nil ? nil : wildcardValue)
      group.mailbox.append(envelope, value, for: group.target)
      return false
    }
  }

  private func runInline<Value, Wildcard: Sendable>(
    _ value: Value, _ wildcardValue: WildcardValue<Wildcard>?, _ post: borrowing Post,
    _ section: CriticalSection, at target: Route
  ) {
    // Observers have run since the reservation was narrowed: the group may have other memory now.
    widen(section)
    var route = target.reread
    narrow(section)
    walk(value, wildcardValue, post, section, &route)
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

  /// A route to each target of the post, in the order in which the targets were first named; those of
  /// observers that always queue are last.
  fileprivate var targetRoutes: [Route] {
    var routes: [Route] = []
    for index in Self.indices where self[index].hasGroups {
      // The groups of one list have different mailboxes, or differ in whether they are ordered.
      let others = routes.indices
      for group in self[index].listReference.currentGroups?.groups ?? [] {
        let found = others.first {
          unsafe routes[$0].group._withUnsafeGuaranteedRef {
            $0.isFor(group.mailbox, isOrdered: group.isOrdered)
          }
        }
        if found == nil { routes.append(Route()) }
        routes[found ?? routes.count - 1][index] = Cursor(unread: group.list)
      }
    }
    // Messages that they leave would make the others of the target queue.
    let isOrdered = { (route: Route) in
      unsafe route.group._withUnsafeGuaranteedRef { $0.isOrdered }
    }
    return routes.filter { !isOrdered($0) } + routes.filter(isOrdered)
  }
}

extension Cursor {
  /// The route to the target of a list that has one group.
  fileprivate var onlyTargetRoute: Route? {
    // SAFETY: the announcement keeps the list's groups.
    unsafe listReference.groupsReference?._withUnsafeGuaranteedRef { groups in
      groups.only.map { Route(all: Cursor(unread: $0.list)) }
    }
  }
}
