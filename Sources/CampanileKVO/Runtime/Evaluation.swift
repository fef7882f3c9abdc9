import Campanile
import Synchronization

/// The part of the evaluation of a key path that does not depend on the types of the object and the
/// value.
///
/// An evaluation receives the changes of the properties on the path. It delivers them to all
/// observers of the path: once, in order, one at a time.
///
/// ## Ownership
///
/// The properties keep the evaluation, and the evaluation keeps the list of its observers. Each
/// observer has a seat (``ObserverSeat``). A seat does not keep the evaluation, and closes it when
/// it is released. When the last seat is released, the evaluation unlinks from the properties. A
/// direct key path is one property of the object. Its evaluation stays linked until the property
/// changes next, so that a new observer can reuse it. That is so if the property is one of the few
/// that an object keeps.
///
/// So an evaluation lives until all objects that it follows have died, or until the last
/// registration has ended. That of a direct key path also waits for the next change.
///
/// ## Isolation
///
/// If the key path is not `Sendable`, its evaluation is used in the isolation of its objects.
/// Otherwise the threads that change the objects call the evaluation concurrently. Its state is
/// behind a lock, and each of these threads may read the old value. One thread at a time reads the
/// new value and delivers.
class Evaluation {
  let request: KVORequest
  let state = EvaluationState()
  let rootID: ObjectIdentifier
  /// The key of the root in transactions.
  let rootKey: ObjectIdentifier
  /// Protected by the lock.
  private let following = Locked(Following())
  // SAFETY: its values stay in the isolation of the code that changes the object.
  let keeper: UncheckedLock<ChangeKeeper>
  let collector = ReadCollector()
  let direct = Atomic<Bool>(false)
  /// The property of a direct key path.
  let directProperty = LazyReference<ObservedProperty>()
  /// The number of the change that stored the value read last.
  ///
  /// Used by the delivering thread.
  var readNumber: UInt?
  /// The number of nested unrecorded changes that are being delivered.
  ///
  /// Used in the isolation of the object.
  var plainDepth = 0
  /// The range of changes in each report that is being delivered, the innermost last.
  ///
  /// Used by the delivering thread.
  var began: [(first: UInt, last: UInt)] = []
  /// The number of nested changes that are being delivered.
  ///
  /// Used by the delivering thread.
  var depth = 0
  /// The collector while an old value is read.
  ///
  /// It collects nothing.
  let oldReader = ReadCollector(isOfKnown: true, isSilent: true)
  /// The newest change of the property of a direct key path that is included in a value that was
  /// read.
  let floor = Atomic<UInt>(0)
  /// The threads that run the getters of the path, once for each nested call.
  let readers = Locked<[UInt]>([])
  /// The number of `readers`, so that a change takes no lock to see that there are none.
  let readerCount = Atomic<Int>(0)
  /// Whether no change is recorded in `keeper`.
  let idle = Atomic<Bool>(false)
  /// The prior calls in progress: the threads, and the numbers of changes that had been delivered.
  ///
  /// The innermost call of a thread is its last.
  let priors = Locked<[(thread: UInt, mark: UInt)]>([])
  /// The box of the value known before each change that is being delivered, the innermost last.
  ///
  /// The first number is the count of the change that was read before it. The last number is that of
  /// the change that has read the value, or 0 if it had been delivered.
  ///
  /// Used if values are compared, by the delivering thread.
  var compared: [(since: UInt, count: UInt, depth: Int, known: AnyObject?, before: UInt)] = []
  /// The count of the change whose value was read last.
  ///
  /// Used if values are compared, by the delivering thread.
  var comparedCount: UInt = 0
  /// The box of the value delivered last, while changes are being delivered.
  ///
  /// Used if values are compared, by the delivering thread.
  var told: AnyObject?

  /// The links to the followed properties, and the number of observers.
  private struct Following {
    var links: [Link] = []
    var seatCount = 0
    /// Whether the last observer has ended.
    ///
    /// No other observer can be added.
    var isOver = false

    /// - Parameter ended: On return, the links that are not followed any more.
    mutating func end(_ ended: inout [Link]) {
      isOver = true
      swap(&ended, &links)
    }
  }

  init(_ request: KVORequest, root: AnyObject) {
    self.request = request
    keeper = UncheckedLock(ChangeKeeper(skipsBeginnings: !request.isForAnyThread))
    rootID = ObjectIdentifier(root)
    rootKey = SubjectIdentity.key(of: root)
    state.attach(to: self)
  }

  deinit { if directProperty.load() != nil { DirectEvaluations.remove(self) } }

  // MARK: Overridden for the types

  /// Makes a prior call, unless the property has left the key path since its value was read.
  typealias PriorCall = (_ link: Link) -> Void

  /// The box of the current value.
  ///
  /// It drops the edit of a report that does not begin with that value.
  ///
  /// - Parameter prior: Receives the prior call, if an observer asked for it.
  func readOld(_ report: inout ChangeReport, _ prior: inout PriorCall?) -> AnyObject? { nil }
  /// Reads the new value, and delivers the change.
  func deliver(_ report: ChangeReport) {}
  /// Reads the new value, and delivers a plain change.
  func deliver(_ path: KVOPath) {}
  /// Delivers a change of the property of a direct key path.
  func deliver<Change, Member>(_ change: Change, of type: Member.Type) {}
  /// Returns a closure that delivers the change to the observers in a range.
  func preparation(of report: ChangeReport) -> (ClosedRange<UInt64>) -> Void { { _ in } }
  /// The identifier of the first observer at or after `id`.
  func firstObserver(from id: UInt64) -> UInt64? { nil }
  /// Follows what the key path reads after a change, if no observer has been called for it.
  func followAnew(after report: ChangeReport) {}
  /// The box of the current value; `nil` if the object has died.
  var newest: AnyObject? { nil }
  /// Ends the observations of an object that has died.
  func finish() {}

  /// Whether this is the evaluation that a request for a key path of an object shares.
  func isOf(_ other: KVORequest, rootID: ObjectIdentifier) -> Bool {
    request.isShared && self.rootID == rootID && request.isOnMain == other.isOnMain
      && request.path == other.path
  }

  /// Notes that the object with this identity has died.
  func end(_ dead: ObjectIdentifier) {
    if rootID == dead { finish() }
  }

  // MARK: Observers

  /// Adds an observer.
  ///
  /// - Returns: Whether it was added. It isn't if the evaluation is over.
  func open() -> Bool {
    var isOpen = false
    following.withLock { following in
      isOpen = !following.isOver
      if isOpen { following.seatCount += 1 }
      if following.seatCount == 1 { state.isUnused = false }
    }
    return isOpen
  }

  /// Removes an observer.
  ///
  /// With the last one, the evaluation stops following its properties.
  ///
  /// A direct key path is followed until its property changes next. That costs nothing, and an
  /// observer that is added before then finds the evaluation. But an object may have any number of
  /// properties whose key paths have arguments, so only its first properties are kept.
  func close() {
    var links: [Link] = []
    let isKept = request.isShared && isDirect && directProperty.load()?.isLasting == true
    following.withLock { following in
      following.seatCount -= 1
      if following.seatCount > 0 { return }
      if isKept { state.isUnused = true } else { following.end(&links) }
    }
    for link in links { link.end() }
  }

  /// Ends the evaluation if it has no observer.
  ///
  /// - Returns: Whether it is over. An observer may have been added meanwhile.
  func endIfUnused() -> Bool {
    var links: [Link] = []
    var isOver = false
    following.withLock { following in
      if following.seatCount == 0 { following.end(&links) }
      isOver = following.isOver
    }
    for link in links { link.end() }
    return isOver
  }

  /// The number of changes that have begun.
  var begun: UInt { keeper.withLock { $0.begun } }

  /// Records the plain changes in progress, so that an observer that is added now does not receive
  /// them.
  func recordPlainChanges() {
    if request.isForAnyThread { return }
    // The common case, without the lock.
    if isDirect, directProperty.load()?.isInPlainChange == false { return }
    let links = following.withLock { $0.links.filter(\.property.isInPlainChange) }
    if links.isEmpty { return }
    keeper.withLock {
      if $0.isInChange { return }
      idle.store(false, ordering: .relaxed)
      let number = $0.recordPlain()
      for link in links { link.record(as: number) }
    }
  }

  // MARK: Following

  /// How often a value is read again that changes while it is read.
  static let attemptLimit = 8

  /// Runs `read`, and follows the properties that it reads.
  func follow<Value>(
    _ read: () -> Value, isOwn: (_ root: any Any.Type) -> Bool
  ) -> Value {
    // A getter may return a new object each time, and change it after it has been read. Then each
    // attempt fails, so their number is limited.
    var attempt = 1
    while true {
      let value = collector.collect { asReader(read) }
      guard let reads = collector.takeNew() else {
        // The properties were already followed when they were read. When an observer is added, the
        // value is not delivered, and others may know an older one.
        if isDirect, !began.isEmpty, let revision = collector.exactRevision {
          floor.store(revision, ordering: .relaxed)
        }
        return value
      }
      switch follow(reads, isOwn: isOwn) {
      case .current: return value
      case .changed where attempt == Self.attemptLimit: return value
      case .changed: attempt += 1
      case .retired: continue
      }
    }
  }

  /// What became of the properties between their read and the links to them.
  enum Finding {
    /// None has changed.
    case current
    /// One that was not followed before has changed, so the value has to be read again.
    ///
    /// Those that were followed announce their changes.
    case changed
    /// One is retired, so its successor has to be read. Nothing is followed yet.
    case retired
  }

  /// Follows these properties and no others.
  func follow(
    _ reads: [ReadCollector.Read], isOwn: (_ root: any Any.Type) -> Bool
  ) -> Finding {
    guard Self.hold(reads) else {
      // Not expected again.
      collector.expect([])
      return .retired
    }
    defer { for read in reads { read.property.letGo() } }
    collector.expect(reads)
    // Not in a subclass, which can override the property and read others. Not later than at first:
    // what the getter has read besides, it may read again.
    let isDirect =
      reads.count == 1 && reads[0].property.subject.id == rootID
      && reads[0].property.path == request.path && !followsSomething
      && isOwn(request.path.identity.rootType)
    let isNew = isDirect && directProperty.load() == nil
    if isNew { _ = directProperty.storeIfNil(reads[0].property) }
    direct.store(isDirect, ordering: .releasing)
    let (new, ended) = follow(reads, began: begun)
    // Observers that find it from here on miss no change.
    if isNew && request.isShared { DirectEvaluations.add(self) }
    forget(ended)
    // For changes in progress, only the end will arrive.
    if !reads.allSatisfy(\.property.isQuiet) {
      keeper.withLock {
        $0.isBehind = true
        idle.store(false, ordering: .relaxed)
      }
    }
    // A value with a newer revision may have been delivered.
    if isDirect { floor.max(reads[0].revision, ordering: .relaxed) }
    // The revision of a read that was expected is not the newest.
    guard new.allSatisfy({ $0.property.revision == $0.revision }) else { return .changed }
    return .current
  }

  /// - Returns: Whether no property is retired. If so, all are held.
  private static func hold(_ reads: [ReadCollector.Read]) -> Bool {
    for (index, read) in reads.enumerated() where !read.property.hold() {
      for held in reads[..<index] { held.property.letGo() }
      return false
    }
    return true
  }

  /// Links to these properties, and to no others.
  ///
  /// - Returns: The reads of properties that were not followed before, and the links that have ended.
  private func follow(
    _ reads: [ReadCollector.Read], began: UInt
  ) -> (new: [ReadCollector.Read], ended: [Link]) {
    let before = following.withLock { $0.links }
    var known: [ObjectIdentifier: Link] = [:]
    for link in before { known[ObjectIdentifier(link.property)] = link }
    var new: [ReadCollector.Read] = []
    var now = reads.map { read in
      if let kept = known.removeValue(forKey: ObjectIdentifier(read.property)) { return kept }
      let link = Link(read.property, began: began)
      read.property.add(link, self)
      new.append(read)
      return link
    }
    let isOver = following.withLock { following in
      if !following.isOver { swap(&following.links, &now) }
      return following.isOver
    }
    let ended = isOver ? now : Array(known.values)
    for link in ended { link.end() }
    return (new, ended)
  }

  /// Whether the evaluation has no observer and cannot get one.
  var isOver: Bool { following.withLock { $0.isOver } }

  /// Whether these properties are followed, and no others.
  func follows(_ reads: [ReadCollector.Read]) -> Bool {
    following.withLock { following in
      following.links.count == reads.count
        && zip(following.links, reads).allSatisfy { $0.property === $1.property }
    }
  }

  /// Whether a property is followed, or the evaluation is over.
  var followsSomething: Bool { following.withLock { !$0.links.isEmpty || $0.isOver } }

  /// Whether all changes of followed properties that have begun have ended.
  var isQuiet: Bool { !followsAny { !$0.isQuiet } }

  /// Whether a change of a followed property is in progress that may be unrecorded.
  var isInPlainChange: Bool { followsAny(\.isInPlainChange) }

  /// Whether a change of a followed property is announced by hand.
  var isAnnounced: Bool { followsAny(\.isAnnouncedByHand) }

  /// Whether `isMeant` returns `true` for a followed property.
  @inline(__always)
  private func followsAny(_ isMeant: (ObservedProperty) -> Bool) -> Bool {
    var isAny = false
    following.withLock { following in
      for index in following.links.indices where isMeant(following.links[index].property) {
        isAny = true
      }
    }
    return isAny
  }

  /// Forgets the changes of properties that have left the key path, or whose object has died.
  ///
  /// Their ends do not arrive. If they have left, a nested change has delivered the value that
  /// replaced them.
  func forget(_ links: [Link]) {
    if links.isEmpty || !keeper.withLock({ $0.isInChange }) { return }
    let ids = Set(links.map { ObjectIdentifier($0) })
    // The old values of the changes are released here.
    let forgotten = keeper.withLock { ($0.forget(ids), $0.forgetKnown()) }
    withExtendedLifetime((links, forgotten)) {}
  }
}
