import Campanile
import Synchronization

/// One property of one object that has been observed, and the evaluations that follow it.
@usableFromInline
final class ObservedProperty: Sendable {
  let subject: Subject
  let path: KVOPath
  /// The key path as an object.
  let pathID: ObjectIdentifier

  // SAFETY: an evaluation is called by code that may change the property.
  private let followers = UncheckedLock<[Follower]>([])
  private let followerCount = Atomic<Int>(0)
  /// Whether any change began unrecorded.
  private let wasPlain = Atomic<Bool>(false)
  /// How often `followers` has changed.
  private let version = Atomic<UInt>(0)
  private let beginnings = Atomic<UInt>(0)
  private let ends = Atomic<UInt>(0)
  /// Changes announced by hand, and the changes that are part of them.
  private let byHand = Locked(HandAnnouncements())
  /// Whether an announced change is open.
  ///
  /// Other changes read this and take no lock if it is `false`.
  private let isAnnounced = Atomic<Bool>(false)
  /// Changes that have been stored with their values, and not delivered.
  // SAFETY: only classes for any thread provide values, and those are `Sendable`.
  private let stored = UncheckedLock(StoredChanges())
  private let hasHandedOver = Atomic<Bool>(false)
  private let home: Home?
  private let retired = Atomic<Bool>(false)
  /// The number of evaluations that are about to follow the property.
  private let holdCount = Atomic<Int>(0)

  /// The table that a property leaves when nothing follows it any more, and the hash of its key path.
  final class Home: Sendable {
    weak let table: PropertyTable?
    let hash: Int

    init(table: PropertyTable, hash: Int) {
      self.table = table
      self.hash = hash
    }
  }

  /// - Parameter home: `nil` if the property stays as long as its object.
  init(_ keyPath: AnyKeyPath, of subject: Subject, _ home: Home? = nil) {
    self.subject = subject
    self.home = home
    path = KVOPath(keyPath)
    pathID = ObjectIdentifier(keyPath)
  }

  // MARK: Followers

  /// The evaluations that follow the property, in the order in which they were added.
  var currentFollowers: [Follower] {
    var current: [Follower] = []
    // Not returned from the closure: the type of its result would be looked up.
    followers.withLock { current = $0 }
    return current
  }

  func add(_ link: Link, _ evaluation: Evaluation) {
    followers.withLock { $0.append(Follower(link: link, evaluation: evaluation)) }
    followerCount.wrappingAdd(1, ordering: .sequentiallyConsistent)
    version.wrappingAdd(1, ordering: .releasing)
  }

  func remove(_ link: Link) {
    // Released outside the lock.
    var removed: Follower?
    followers.withLock { followers in
      guard let index = followers.firstIndex(where: { $0.link === link }) else { return }
      removed = followers.remove(at: index)
    }
    if removed == nil { return }
    followerCount.wrappingSubtract(1, ordering: .sequentiallyConsistent)
    version.wrappingAdd(1, ordering: .releasing)
    leaveHome()
  }

  // MARK: Retiring

  /// Whether the property stays as long as its object.
  var isLasting: Bool { home == nil }

  /// Whether the table has removed the property.
  ///
  /// The next observation has another one, to which changes are reported.
  var isRetired: Bool { retired.load(ordering: .acquiring) }

  /// Keeps the property from being retired, between its read and the link to it.
  ///
  /// - Returns: Whether it is not retired. If so, call `letGo` afterwards.
  func hold() -> Bool {
    if isLasting { return true }
    return followers.withLock { _ in
      if isRetired { return false }
      holdCount.wrappingAdd(1, ordering: .sequentiallyConsistent)
      return true
    }
  }

  func letGo() {
    if isLasting { return }
    holdCount.wrappingSubtract(1, ordering: .sequentiallyConsistent)
    if !isFollowed { leaveHome() }
  }

  private func leaveHome() {
    guard let home, !subject.hasEnded else { return }
    // A getter that reads the property and sets it would never be done: each read would find another.
    if Scope.current?.collector != nil { return }
    home.table?.retire(self, home.hash)
  }

  /// Retires the property, unless it is followed, or a change of it is in progress.
  ///
  /// Called under the lock of its table.
  func retire() -> Bool {
    var isUnused = false
    followers.withLock { followers in
      if isRetired || !followers.isEmpty || holdCount.load(ordering: .sequentiallyConsistent) != 0 {
        return
      }
      byHand.withLock { byHand in
        isUnused = !byHand.isOpen && isQuiet
        if isUnused { retired.store(true, ordering: .releasing) }
      }
    }
    return isUnused
  }

  /// Unlinks the evaluations from the property of an object that dies, and ends the observations of
  /// that object.
  func end() {
    let all = currentFollowers
    for follower in all { follower.evaluation.end(subject.id) }
    for follower in all {
      follower.link.end()
      follower.evaluation.forget([follower.link])
    }
  }

  private var isFollowed: Bool { followerCount.load(ordering: .sequentiallyConsistent) != 0 }

  /// The number of changes that have begun.
  ///
  /// Counted before the change can be seen.
  var begun: UInt { beginnings.load(ordering: .sequentiallyConsistent) }
  /// The number of changes that have ended.
  var revision: UInt { ends.load(ordering: .sequentiallyConsistent) }

  /// Whether all changes that have begun have ended.
  var isQuiet: Bool {
    // In this order, no change that begins in between is missed.
    let revision = revision
    return begun == revision
  }

  // MARK: Changes

  /// Begins a change that the calling code makes.
  ///
  /// - Parameter isShared: Whether any thread may make changes.
  func willChange(isShared: Bool = false) {
    // The old value will not be known at the end.
    if !isShared, beginPlainly(isOldKnown: false) != nil { return }
    if isAnnouncedByHand, byHand.withLock({ $0.begin(by: .current) }) { return }
    begin(by: .current)
  }

  /// Ends a change that the calling code has made.
  ///
  /// - Parameters:
  ///   - old: The box of the old value, if the caller has it.
  ///   - isShared: Whether any thread may make changes.
  func didChange(_ old: AnyObject? = nil, isShared: Bool = false) {
    if !isShared, old == nil, let evaluation = plain, evaluation.isIdle, begun != revision {
      if endPlainly(evaluation) { evaluation.tellPlainly(self) }
      return
    }
    if isAnnouncedByHand, let isLast = update({ $0.end(by: .current) }) {
      if isLast { end(by: .hand) }
    } else {
      end(by: .current, old)
    }
  }

  // MARK: Plain changes

  /// Whether a change is in progress that may be unrecorded.
  ///
  /// Always `false` for a class for any thread: its changes may be counted and not recorded yet.
  var isInPlainChange: Bool { wasPlain.load(ordering: .relaxed) && !isQuiet }

  /// The only evaluation that follows the property; `nil` if there are several, or while changes
  /// may be part of others.
  private var plain: Evaluation? {
    if isPart { return nil }
    var evaluation: Evaluation?
    followers.withLock { if $0.count == 1 { evaluation = $0[0].evaluation } }
    return evaluation
  }

  /// Whether changes may be part of others.
  ///
  /// The scopes of other threads do not matter: plain changes are those of objects that stay in one
  /// isolation.
  private var isPart: Bool { isAnnouncedByHand || Scope.current != nil }

  /// Begins a plain change: nothing but the values before and after has to be delivered.
  ///
  /// - Parameter isOldKnown: Whether the caller will have the old value.
  /// - Returns: `nil` if more has to be delivered, or if there are several evaluations.
  func beginPlainly(isOldKnown: Bool = true) -> OpenChange? {
    let version = version.load(ordering: .acquiring)
    guard let evaluation = plain, evaluation.isIdle, evaluation.state.isForPlain,
      !evaluation.state.needsOld || isOldKnown && evaluation.isDirect, evaluation.mayBePlain
    else { return nil }
    // Only the end of such a change is relevant.
    if !wasPlain.load(ordering: .relaxed) { wasPlain.store(true, ordering: .relaxed) }
    beginnings.wrappingAdd(1, ordering: .sequentiallyConsistent)
    return OpenChange(plain: self, evaluation, version)
  }

  /// Whether a change can end as it has begun: the same evaluation follows, and no other change is
  /// in progress.
  func isPlain(_ change: OpenChange) -> Bool {
    !isPart && version.load(ordering: .acquiring) == change.version
      && change.evaluation?.isIdle == true
  }

  /// Counts the end of a plain change.
  ///
  /// - Returns: Whether to deliver it. Inside another change of a followed property, that change is
  ///   delivered.
  func endPlainly(_ evaluation: Evaluation) -> Bool {
    let number = ends.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    return number == begun && (evaluation.isDirect || !evaluation.isInPlainChange)
  }

  /// Whether a change that is announced by hand has not ended.
  var isAnnouncedByHand: Bool { isAnnounced.load(ordering: .acquiring) }

  private func begin(by maker: @autoclosure () -> Maker) {
    let number = beginnings.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    if !isFollowed { return }
    let scope = Scope.current
    let edit = scope?.edit?.claim(by: self, as: number)
    announce(Event(maker: maker(), edit: edit, collector: scope?.collector))
  }

  private func end(by maker: @autoclosure () -> Maker, _ old: AnyObject? = nil) {
    let number = ends.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    // The change began when the property had not been observed yet.
    let openCount = number > begun ? 0 : begun &- number &+ 1
    if openCount == 0 { beginnings.wrappingAdd(1, ordering: .sequentiallyConsistent) }
    if !isFollowed { return leaveHome() }
    let collector = Scope.current?.collector
    tell(
      Event(
        maker: maker(), edit: nil, collector: collector, old: old, openCount: openCount,
        number: number))
  }

  /// Announces to the evaluations that a change begins.
  private func announce(_ event: Event) {
    let followers = currentFollowers
    Scope.withObservers {
      if followers.count == 1 {
        let link = followers[0].link
        followers[0].evaluation.begin(event, over: link)?(link)
      } else {
        Evaluation.begin(event, over: followers)
      }
    }
  }

  /// Has the evaluations deliver a change.
  private func tell(_ event: Event) {
    let followers = currentFollowers
    Scope.withObservers {
      if followers.count == 1 {
        followers[0].evaluation.end(event, over: followers[0].link)
      } else {
        Evaluation.end(event, over: followers)
      }
    }
  }

  // MARK: Changes that are known with their values

  /// Whether a class has provided values of any property, of any object.
  static var isAnyHandedOver: Bool { anyHandedOver.load(ordering: .relaxed) }
  private static let anyHandedOver = Atomic<Bool>(false)

  /// Whether the class sets this property through its registrar, which knows the values.
  var handsOver: Bool { hasHandedOver.load(ordering: .acquiring) }

  /// Begins a change whose values the class provides.
  ///
  /// - Returns: `nil` if the change is part of a transaction or of a change announced by hand. The
  ///   value is then read at the end of that change.
  func beginKnown() -> KnownChange? {
    if !handsOver {
      Self.anyHandedOver.store(true, ordering: .relaxed)
      hasHandedOver.store(true, ordering: .releasing)
    }
    if isAnnouncedByHand || Scope.current?.transaction != nil { return nil }
    let scope = Scope.current
    let edit = scope?.edit?.claim(by: self, as: begun &+ 1, isKnown: true)
    let change = KnownChange(maker: .known(), edit: edit, collector: scope?.collector)
    if isFollowed {
      announce(Event(maker: change.maker, edit: edit, collector: change.collector))
    }
    return change
  }

  /// Counts and stores a change.
  ///
  /// Called under the lock of the class, when the value has been stored.
  ///
  /// - Parameter values: Makes the box of the values.
  func store<Values: AnyObject>(_ change: KnownChange, _ values: (_ number: UInt) -> Values)
    -> Values
  {
    let begun = beginnings.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    let number = ends.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    let values = values(number)
    // No other change is in progress, and none was made in between.
    let isEdit = begun == number && change.edit?.isNumber(number) == true
    let event = Event(
      maker: change.maker, edit: isEdit ? change.edit : nil, values: values,
      collector: change.collector, number: number)
    stored.withLock { $0.events.append(event) }
    return values
  }

  /// Delivers the stored changes, unless another thread does so already and delivers these too.
  func tellStored() {
    var event: Event?
    stored.withLock { if !$0.isTelling { event = $0.next() } }
    var count = 0
    while let next = event {
      tell(next)
      count += 1
      // While other threads go on setting, one of them goes on telling.
      let (offers, rest) = count.quotientAndRemainder(dividingBy: Self.tellingLimit)
      if rest == 0 { offer(for: offers) }
      var following: Event?
      stored.withLock { if rest != 0 || !$0.isTelling { following = $0.next() } }
      // Assigned outside the lock: the assignment releases the values of the previous event.
      event = following
    }
    if !isFollowed { leaveHome() }
  }

  /// Whether a thread delivers stored changes.
  var isTelling: Bool { stored.withLock { $0.isTelling } }

  /// How many changes a thread delivers before it offers the rest to the next thread that sets.
  private static var tellingLimit: Int { 64 }

  /// Lets another thread deliver what is stored, if one sets the property now.
  ///
  /// - Parameter offers: How many offers nobody has taken. Each takes longer than the one before.
  private func offer(for offers: Int) {
    stored.withLock { $0.isTelling = false }
    for _ in 0..<(1 << min(offers, 7)) { SourceRegistry.linger() }
  }

  // MARK: Announcements by hand

  /// Begins a change that is announced by hand.
  ///
  /// - Returns: Whether it is the outermost one; `nil` if the property is retired.
  func beginByHand() -> Bool? {
    let isOutermost: Bool? = byHand.withLock { byHand in
      if isRetired { return nil }
      isAnnounced.store(true, ordering: .releasing)
      return byHand.begin()
    }
    if isOutermost == true { begin(by: .hand) }
    return isOutermost
  }

  /// Ends a change of `object` that is announced by hand.
  ///
  /// - Returns: Whether it was the last open one.
  func endByHand(noting object: AnyObject) -> Bool {
    guard update({ $0.end() }) == true else { return false }
    if Scope.isAnyOpen { Scope.note(path, of: object) }
    end(by: .hand)
    return true
  }

  private func update(_ end: (inout HandAnnouncements) -> Bool?) -> Bool? {
    byHand.withLock { byHand in
      let isLast = end(&byHand)
      isAnnounced.store(byHand.isOpen, ordering: .releasing)
      return isLast
    }
  }
}
