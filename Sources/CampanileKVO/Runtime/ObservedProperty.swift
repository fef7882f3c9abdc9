import Campanile
import Synchronization

/// One property of one object that has been asked about, and the evaluations that follow it.
@usableFromInline
final class ObservedProperty: Sendable {
  let subject: Subject
  let path: KVOPath
  /// An evaluation, and its link to the property.
  struct Follower {
    let link: Link
    let evaluation: Evaluation
  }

  // SAFETY: an evaluation is called by those who may change the property.
  private let followers = UncheckedLock<[Follower]>([])
  private let followerCount = Atomic<Int>(0)
  /// Whether any change began without being noted.
  private let wasPlain = Atomic<Bool>(false)
  /// How often these have changed.
  private let version = Atomic<UInt>(0)
  private let beginnings = Atomic<UInt>(0)
  private let ends = Atomic<UInt>(0)
  /// Announcements by hand, and what is part of them.
  private let byHand = Locked(HandAnnouncements())
  /// Whether any of these is open, so that other changes take no lock to see that none is.
  private let isAnnounced = Atomic<Bool>(false)
  /// What has been stored with its values, and not been told.
  // SAFETY: only classes for any thread hand values over, and those are Sendable.
  private let stored = UncheckedLock(StoredChanges())
  private let hasHandedOver = Atomic<Bool>(false)

  init(_ keyPath: AnyKeyPath, of subject: Subject) {
    self.subject = subject
    path = KVOPath(keyPath)
  }

  // MARK: Who follows

  /// The evaluations that follow the property, in the order in which they came.
  var currentFollowers: [Follower] {
    var current: [Follower] = []
    // Without a result, whose type would be looked up.
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
  }

  /// Ends what follows the property of an object that dies, and the observations of that object.
  func end() {
    let all = currentFollowers
    for follower in all { follower.evaluation.end(subject.id) }
    for follower in all { follower.link.end() }
  }

  private var isFollowed: Bool { followerCount.load(ordering: .sequentiallyConsistent) != 0 }

  /// Counts the changes that have begun, before they can be seen.
  var begun: UInt { beginnings.load(ordering: .sequentiallyConsistent) }
  /// Counts the changes that have ended.
  var revision: UInt { ends.load(ordering: .sequentiallyConsistent) }

  /// Whether all changes that have begun have ended.
  var isQuiet: Bool {
    // Asked in this order, none can begin in between that is not seen.
    let revision = revision
    return begun == revision
  }

  // MARK: Changes

  /// Begins a change that the calling code makes.
  ///
  /// - Parameter isShared: Whether any thread may make changes.
  func willChange(isShared: Bool = false) {
    // Nobody has the old value at the end.
    if !isShared, beginPlainly(isOldKnown: false) != nil { return }
    let isAnnounced = isAnnounced.load(ordering: .acquiring)
    if isAnnounced, byHand.withLock({ $0.begin(by: .current) }) { return }
    begin(by: .current)
  }

  /// Ends a change that the calling code has made.
  ///
  /// - Parameters:
  ///   - old: The box of the value before it, if the caller has that.
  ///   - isShared: Whether any thread may make changes.
  func didChange(_ old: AnyObject? = nil, isShared: Bool = false) {
    if !isShared, old == nil, let evaluation = plain, evaluation.isIdle, begun != revision {
      if endPlainly(evaluation) { evaluation.tellPlainly(self) }
      return
    }
    if isAnnounced.load(ordering: .acquiring), let isLast = update({ $0.end(by: .current) }) {
      if isLast { end(by: .hand) }
    } else {
      end(by: .current, old)
    }
  }

  // MARK: Plain changes

  /// Whether a change goes on whose beginning was perhaps not noted.
  ///
  /// Never of a class for any thread, where others' changes may be counted and not noted yet.
  var isInPlainChange: Bool { wasPlain.load(ordering: .relaxed) && !isQuiet }

  /// The only evaluation that follows the property; `nil` while changes may be part of others.
  private var plain: Evaluation? {
    if isPart { return nil }
    var evaluation: Evaluation?
    followers.withLock { if $0.count == 1 { evaluation = $0[0].evaluation } }
    return evaluation
  }

  /// Whether changes may be part of others.
  private var isPart: Bool { isAnnounced.load(ordering: .acquiring) || Scope.isAnyOpen }
  /// Begins a change of which nothing but the values before and after are to be told.
  ///
  /// - Parameter isOldKnown: Whether the caller will have the value before it.
  /// - Returns: `nil` if more is, or there are several evaluations.
  func beginPlainly(isOldKnown: Bool = true) -> OpenChange? {
    let version = version.load(ordering: .acquiring)
    guard let evaluation = plain, evaluation.isIdle, evaluation.state.isForPlain,
      !evaluation.state.needsOld || isOldKnown && evaluation.isDirect, evaluation.mayBePlain
    else { return nil }
    // Its end is all that counts.
    if !wasPlain.load(ordering: .relaxed) { wasPlain.store(true, ordering: .relaxed) }
    beginnings.wrappingAdd(1, ordering: .sequentiallyConsistent)
    return OpenChange(plain: self, evaluation, version)
  }

  /// Whether a change can end as it has begun: the same evaluation follows, and nothing else goes on.
  func isPlain(_ change: OpenChange) -> Bool {
    !isPart && version.load(ordering: .acquiring) == change.version
      && change.evaluation?.isIdle == true
  }

  /// Counts the end of a change of which nothing but the new value is to be told.
  ///
  /// - Returns: Whether it is to be told; inside another change of what is followed, that one is.
  func endPlainly(_ evaluation: Evaluation) -> Bool {
    let number = ends.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    return number == begun && (evaluation.isDirect || !evaluation.isInPlainChange)
  }

  /// Whether changes are announced by hand, and not ended.
  var isAnnouncedByHand: Bool { isAnnounced.load(ordering: .acquiring) }

  private func begin(by maker: @autoclosure () -> Maker) {
    let number = beginnings.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    if !isFollowed { return }
    let edit = Scope.current?.edit?.claim(by: self, as: number)
    announce(Event(maker: maker(), edit: edit))
  }

  private func end(by maker: @autoclosure () -> Maker, _ old: AnyObject? = nil) {
    let number = ends.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    // One that began when nobody had asked about the property yet.
    let openCount = number > begun ? 0 : begun &- number &+ 1
    if openCount == 0 { beginnings.wrappingAdd(1, ordering: .sequentiallyConsistent) }
    if isFollowed { tell(Event(maker: maker(), edit: nil, old: old, openCount: openCount)) }
  }

  /// Has the evaluations take in that a change begins.
  private func announce(_ event: Event) {
    let followers = currentFollowers
    Scope.withObservers {
      for follower in followers { follower.evaluation.begin(event, over: follower.link) }
    }
  }

  /// Has the evaluations tell a change.
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

  /// A change whose values the class hands over, from when it begins until it has been stored.
  struct KnownChange {
    fileprivate let maker: Maker
    fileprivate let edit: AnnouncedEdit?
    fileprivate let collector: ReadCollector?
  }

  /// Whether a class has handed over values of any property, of any object.
  static var isAnyHandedOver: Bool { anyHandedOver.load(ordering: .relaxed) }
  private static let anyHandedOver = Atomic<Bool>(false)

  /// Whether a class has handed over values of it.
  var handsOver: Bool { hasHandedOver.load(ordering: .acquiring) }

  /// Begins a change whose values the class hands over.
  ///
  /// - Returns: `nil` if it is part of another change, of a transaction or of one that is announced by
  ///   hand, whose value is read at its end.
  func beginKnown() -> KnownChange? {
    if isAnnounced.load(ordering: .acquiring) || Scope.current?.transaction != nil {
      return nil
    }
    if !handsOver {
      Self.anyHandedOver.store(true, ordering: .relaxed)
      hasHandedOver.store(true, ordering: .releasing)
    }
    let scope = Scope.current
    let edit = scope?.edit?.claim(by: self, as: begun &+ 1, isKnown: true)
    let change = KnownChange(maker: .known(), edit: edit, collector: scope?.collector)
    if isFollowed {
      announce(Event(maker: change.maker, edit: edit, collector: change.collector))
    }
    return change
  }

  /// Counts and keeps a change; called under the lock of the class, when the value has been stored.
  ///
  /// - Parameter values: Makes the box of the values.
  func store<Values: AnyObject>(_ change: KnownChange, _ values: (_ number: UInt) -> Values)
    -> Values
  {
    let begun = beginnings.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    let number = ends.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    let values = values(number)
    // No other change goes on, and none came between.
    let isEdit = begun == number && change.edit?.isNumber(number) == true
    let event = Event(
      maker: change.maker, edit: isEdit ? change.edit : nil, values: values,
      collector: change.collector)
    stored.withLock { $0.events.append(event) }
    return values
  }

  /// Tells what has been stored, unless a thread does so already, which tells this too.
  func tellStored() {
    var event: Event?
    stored.withLock { if !$0.isTelling { event = $0.next() } }
    while let next = event {
      tell(next)
      var following: Event?
      stored.withLock { following = $0.next() }
      // Not under the lock, where it would release the values of the one before.
      event = following
    }
  }

  // MARK: Announcements by hand

  /// Begins a change that is announced by hand.
  ///
  /// - Returns: whether it is the outermost one.
  func beginByHand() -> Bool {
    let isOutermost = byHand.withLock { byHand in
      isAnnounced.store(true, ordering: .releasing)
      return byHand.begin()
    }
    if isOutermost { begin(by: .hand) }
    return isOutermost
  }

  /// Ends a change of `object` that is announced by hand.
  ///
  /// - Returns: whether it was the last one of those that it is made of.
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
