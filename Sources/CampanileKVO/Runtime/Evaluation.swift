import Campanile
import Synchronization

/// The part of the evaluation of a key path that does not depend on the types of the object and the
/// value: it hears of the changes of the properties on the path, and has them told once, in order, one
/// at a time, to all who observe the path.
///
/// ## Who keeps whom
///
/// The properties keep the evaluation, and it keeps the list of its observers. Each observer has a seat,
/// which does not keep the evaluation, and tells it when it goes: with the last one it leaves the
/// properties. That of one property of the object stays there until this changes, and is found by an
/// observer that comes before. So an evaluation lives until the last registration ends, or, of one
/// property, until its next change, or until all objects that it follows have died.
///
/// ## Isolation
///
/// An evaluation of a key path that is not Sendable is in the hands of the isolation of its
/// objects. Any other one is called by the threads that change them, at once: its state is behind a
/// lock, each of them may read the old value, and one of them reads the new one and tells at a
/// time.
class Evaluation {
  let request: KVORequest
  let state = EvaluationState()
  let rootID: ObjectIdentifier
  /// The key by which a transaction knows the root.
  let rootKey: ObjectIdentifier
  /// Protected by the lock.
  private let following = Locked(Following())
  // SAFETY: the values in it stay in the isolation of those that change the object.
  let keeper: UncheckedLock<ChangeKeeper>
  let collector = ReadCollector()
  let direct = Atomic<Bool>(false)
  /// The property of a direct key path.
  let directProperty = LazyReference<ObservedProperty>()
  /// Whether it is found among the direct ones; used by the thread that first follows.
  private var isListed = false
  /// The number of the change that stored the value which was read last; used by the thread that tells.
  var readNumber: UInt?
  /// How many changes are being told that were not noted, one inside the other; used by the isolation of the
  /// object.
  var plainDepth = 0
  /// Which changes each report is made of that is being told, the innermost last; used by the thread that
  /// tells.
  var began: [(first: UInt, last: UInt)] = []
  /// How many changes are being told, one inside the other; used by the thread that tells.
  var depth = 0
  /// Stands for the reading of an old value, in which nothing is collected.
  let oldReader = ReadCollector(isOfKnown: true, isSilent: true)
  /// The newest change of that property that is part of a value which was read.
  let floor = Atomic<UInt>(0)
  /// The threads that run the getters on the path, each as often as it is inside.
  let readers = Locked<[UInt]>([])
  /// How many these are, so that a change takes no lock to see that there is none.
  let readerCount = Atomic<Int>(0)
  /// Whether no change is noted in `keeper`.
  let idle = Atomic<Bool>(false)
  /// How many changes had been told when a prior call was made.
  let priorMark = Atomic<UInt>(0)
  /// The box of what was known before each change that is being told, the innermost last, if values are
  /// compared; used by the thread that tells.
  var compared: [(count: UInt, depth: Int, known: AnyObject?)] = []
  /// The box of what was told last, while changes are being told and values are compared; used by the same
  /// thread.
  var told: AnyObject?
  /// Where changes wait for the main actor that were made elsewhere, once there were any.
  let strays = LazyReference<Strays>()

  /// What is followed, and for how many observers.
  private struct Following {
    var links: [Link] = []
    var seatCount = 0
    /// Whether the last observer has gone: there is to be no other one.
    var isOver = false

    /// - Parameter ended: After it, what is not followed any more.
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
  }

  deinit { if isListed { DirectEvaluations.remove(self) } }

  // MARK: What depends on the types

  /// The box of the value now, which is told as the prior one if that was asked for.
  ///
  /// It drops the edit of a report that does not begin with that value.
  func readOld(_ report: inout ChangeReport) -> AnyObject? { nil }
  /// Reads the new value, and tells the change.
  func deliver(_ report: ChangeReport) {}
  /// The same for a change of which nothing else is known.
  func deliver(_ path: KVOPath) {}
  /// The same, with the change of the property of a direct key path.
  func deliver<Change, Member>(_ change: Change, of type: Member.Type) {}
  /// Makes what tells the change to the observers in a range.
  func preparation(of report: ChangeReport) -> (ClosedRange<UInt64>) -> Void { { _ in } }
  /// The identifier of the first observer from `id` on.
  func firstObserver(from id: UInt64) -> UInt64? { nil }
  /// Follows what the key path reads after a change, if nobody has been called for it.
  func followAnew(after report: ChangeReport) {}
  /// The box of the value as it is now; `nil` if the object has died.
  var newest: AnyObject? { nil }
  /// Ends the observations of an object that has died.
  func finish() {}

  /// Whether it is that of a key path of an object.
  func isOf(_ other: KVORequest, rootID: ObjectIdentifier) -> Bool {
    request.isShared && self.rootID == rootID && request.isOnMain == other.isOnMain
      && request.path == other.path
  }

  /// Takes in that the object with this identity has died.
  func end(_ dead: ObjectIdentifier) {
    if rootID == dead { finish() }
  }

  // MARK: Observers

  /// Takes in that an observer comes.
  ///
  /// - Returns: Whether it may: not if there is to be no other one.
  func open() -> Bool {
    var isOpen = false
    following.withLock { following in
      isOpen = !following.isOver
      if isOpen { following.seatCount += 1 }
      if following.seatCount == 1 { state.isUnused = false }
    }
    return isOpen
  }

  /// Takes in that an observer has gone; with the last one, nothing is followed any more.
  ///
  /// A key path that is one property is followed until that changes: it costs nothing, and an observer that
  /// comes before finds the evaluation.
  func close() {
    var links: [Link] = []
    let isKept = request.isShared && isDirect
    following.withLock { following in
      following.seatCount -= 1
      if following.seatCount > 0 { return }
      if isKept { state.isUnused = true } else { following.end(&links) }
    }
    for link in links { link.end() }
  }

  /// Ends what nobody observes.
  ///
  /// - Returns: Whether that is so: an observer may have come.
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

  /// How many changes have begun.
  var begun: UInt { keeper.withLock { $0.begun } }

  // MARK: Following

  /// Runs `read`, and follows the properties that it reads.
  func follow<Value>(
    _ read: () -> Value, isOwn: (_ root: any Any.Type) -> Bool
  ) -> Value {
    while true {
      let value = collector.collect { asReader(read) }
      guard let reads = collector.takeNew() else {
        // What was followed already when it was read.
        if isDirect, let revision = collector.exactRevision {
          floor.store(revision, ordering: .relaxed)
        }
        return value
      }
      if follow(reads, isOwn: isOwn) { return value }
    }
  }

  /// Follows these properties and no others.
  ///
  /// - Returns: Whether none of them has changed since it was read; else the value is to be read again.
  func follow(_ reads: [ReadCollector.Read], isOwn: (_ root: any Any.Type) -> Bool) -> Bool {
    collector.expect(reads)
    // Not in a subclass, which can override the property and read others.
    let isDirect =
      reads.count == 1 && reads[0].property.subject.id == rootID
      && reads[0].property.path == request.path && isOwn(request.path.identity.rootType)
    if isDirect { _ = directProperty.storeIfNil(reads[0].property) }
    direct.store(isDirect, ordering: .releasing)
    if isDirect && request.isShared && !isListed {
      isListed = true
      DirectEvaluations.add(self)
    }
    let began = begun
    forget(follow(reads, began: began))
    // Of changes that go on, only the end will be heard.
    if !reads.allSatisfy(\.property.isQuiet) {
      keeper.withLock {
        $0.isBehind = true
        idle.store(false, ordering: .relaxed)
      }
    }
    guard reads.allSatisfy({ $0.property.revision == $0.revision }) else { return false }
    if isDirect { floor.store(reads[0].revision, ordering: .relaxed) }
    return true
  }

  /// Links to these properties, and to no others.
  ///
  /// - Returns: The links that have ended.
  private func follow(_ reads: [ReadCollector.Read], began: UInt) -> [Link] {
    let before = following.withLock { $0.links }
    var known: [ObjectIdentifier: Link] = [:]
    for link in before { known[ObjectIdentifier(link.property)] = link }
    var now = reads.map { read in
      if let kept = known.removeValue(forKey: ObjectIdentifier(read.property)) { return kept }
      let link = Link(read.property, began: began)
      read.property.add(link, self)
      return link
    }
    let isOver = following.withLock { following in
      if !following.isOver { swap(&following.links, &now) }
      return following.isOver
    }
    let ended = isOver ? now : Array(known.values)
    for link in ended { link.end() }
    return ended
  }

  /// Whether no observer is there or comes.
  var isOver: Bool { following.withLock { $0.isOver } }

  /// Whether a property is followed, or the observers have gone, for whom none is.
  var followsSomething: Bool { following.withLock { !$0.links.isEmpty || $0.isOver } }

  /// Whether all changes have ended that have begun of properties that are followed.
  var isQuiet: Bool {
    var isQuiet = true
    following.withLock { following in
      for link in following.links where !link.property.isQuiet { isQuiet = false }
    }
    return isQuiet
  }

  /// Whether a change goes on of a property that is followed, whose beginning was perhaps not noted.
  var isInPlainChange: Bool {
    var isInside = false
    following.withLock { following in
      for link in following.links where link.property.isInPlainChange { isInside = true }
    }
    return isInside
  }

  /// Whether a change of any property that is followed is announced by hand.
  var isAnnounced: Bool {
    var isAnnounced = false
    following.withLock { following in
      for link in following.links where link.property.isAnnouncedByHand { isAnnounced = true }
    }
    return isAnnounced
  }

  /// Forgets the changes of properties that have left the key path: a nested change has told what
  /// there is instead, and their ends are not heard.
  private func forget(_ links: [Link]) {
    if links.isEmpty { return }
    let ids = Set(links.map { ObjectIdentifier($0) })
    // With their old values, which are released here.
    let forgotten = keeper.withLock { $0.forget(ids) }
    withExtendedLifetime((links, forgotten)) {}
  }
}
