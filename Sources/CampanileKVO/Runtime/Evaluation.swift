import Campanile
import Synchronization

/// The part of the evaluation of a key path that does not depend on the types of the object and the
/// value: it hears of the changes of the properties on the path, and has them told once, in order, one
/// at a time, to all who observe the path.
///
/// ## Who keeps whom
///
/// The properties keep the evaluation, and it keeps the list of its observers. An observer in that list
/// keeps `upstream`, the links to the properties. So the evaluation lives until the last registration
/// ends, or all objects that it follows have died.
///
/// ## Isolation
///
/// An evaluation of a key path that is not Sendable is in the hands of the isolation of its
/// objects. Any other one is called by the threads that change them, at once: its state is behind a
/// lock, each of them may read the old value, and one of them reads the new one and tells at a
/// time.
class Evaluation {
  let traits: Traits
  let state = EvaluationState()
  private let rootID: ObjectIdentifier
  /// The key by which a transaction knows the root.
  private let rootKey: ObjectIdentifier
  private let upstreamReference: OwnerReference<Upstream>
  // SAFETY: the values in it stay in the isolation of those that change the object.
  private let keeper: UncheckedLock<ChangeKeeper>
  private let collector = ReadCollector()
  private let direct = Atomic<Bool>(false)
  /// The property of a direct key path.
  private let directProperty = LazyReference<ObservedProperty>()
  /// The number of the change that stored the value which was read last; used by the thread that tells.
  private var readNumber: UInt?
  /// How many changes are being told that were not noted, one inside the other.
  private var plainDepth = 0
  /// How many changes are being told, one inside the other; used by the thread that tells.
  private(set) var depth = 0
  /// Stands for the reading of an old value, in which nothing is collected.
  private let oldReader = ReadCollector(isOfKnown: true)
  /// The newest change of that property that is part of a value which was read.
  private let floor = Atomic<UInt>(0)
  /// The threads that run the getters on the path, each as often as it is inside.
  private let readers = Locked<[UInt]>([])
  /// How many these are, so that a change takes no lock to see that there is none.
  private let readerCount = Atomic<Int>(0)
  /// Whether no change is noted in `keeper`.
  private let idle = Atomic<Bool>(false)
  /// Where changes wait for the main actor that were made elsewhere, once there were any.
  private let strays = LazyReference<Strays>()

  /// What is the same for all values.
  struct Traits {
    let path: KVOPath
    /// Whether the key path is read on the main actor alone.
    let isOnMain: Bool
    /// Whether any thread may make changes.
    let isForAnyThread: Bool
    /// Whether all observers of the key path may share the evaluation.
    let isShared: Bool
    let file: StaticString
    let line: UInt
  }

  init(_ traits: Traits, root: AnyObject, _ upstream: Upstream) {
    self.traits = traits
    keeper = UncheckedLock(ChangeKeeper(skipsBeginnings: !traits.isForAnyThread))
    upstreamReference = OwnerReference(upstream)
    rootID = ObjectIdentifier(root)
    rootKey = SubjectIdentity.key(of: root)
  }

  /// What is followed, unless the last observer has gone.
  var upstream: Upstream? { upstreamReference.object }

  // MARK: What depends on the types

  /// The box of the value now, which is told as the prior one if that was asked for.
  ///
  /// It drops the edit of a report that does not begin with that value.
  func readOld(_ report: inout ChangeReport) -> AnyObject? { nil }
  /// Reads the new value, and tells the change.
  func deliver(_ report: ChangeReport) {}
  /// The same for a change of which nothing else is known.
  func deliver(_ path: KVOPath) {}
  /// The same, with the value that the property of a direct key path has now.
  func deliver<Member>(_ value: Member) {}
  /// The same, with the values before and after.
  func deliver<Member>(_ old: Member, _ new: Member) {}
  /// Makes what tells the change to the observers in a range.
  func preparation(of report: ChangeReport) -> (ClosedRange<UInt64>) -> Void { { _ in } }
  /// The identifier of the first observer from `id` on.
  func firstObserver(from id: UInt64) -> UInt64? { nil }
  /// Takes in that a change has been told.
  func forgetTold(from depth: Int) {}
  /// Ends the observations of an object that has died.
  func finish() {}

  // MARK: Following

  /// Whether it is that of a key path of an object.
  func isOf(_ path: KVOPath, rootID: ObjectIdentifier, isOnMain: Bool) -> Bool {
    traits.isShared && self.rootID == rootID && traits.isOnMain == isOnMain
      && (traits.path.object == path.object || traits.path == path)
  }

  /// Takes in that the object with this identity has died.
  func end(_ dead: ObjectIdentifier) {
    if rootID == dead { finish() }
  }

  /// Takes in that an observer comes, or has read the value that it begins with.
  func join(_ seat: AnyObserverSeat) {
    seat.comesAfter(keeper.withLock { $0.begun })
  }

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
    guard let upstream else { return true }
    collector.expect(reads)
    // Not in a subclass, which can override the property and read others.
    let isDirect =
      reads.count == 1 && reads[0].property.subject.id == rootID
      && reads[0].property.path == traits.path && isOwn(traits.path.identity.rootType)
    if isDirect { _ = directProperty.storeIfNil(reads[0].property) }
    direct.store(isDirect, ordering: .releasing)
    let began = keeper.withLock { $0.begun }
    forget(upstream.follow(reads, began: began) { link in link.property.add(link, self) })
    // Of changes that go on, only the end will be heard.
    if !reads.allSatisfy({ $0.property.begun == $0.revision }) {
      keeper.withLock { $0.isBehind = true }
    }
    guard reads.allSatisfy({ $0.property.revision == $0.revision }) else { return false }
    if isDirect { floor.store(reads[0].revision, ordering: .relaxed) }
    return true
  }

  /// Whether a property is followed, or the observers have gone, for whom none is.
  var followsSomething: Bool { upstream?.isEmpty != true }

  /// Runs getters: what they change themselves is no change of their value.
  func asReader<Value>(_ read: () -> Value) -> Value {
    let thread = SourceRegistry.currentThread
    readers.withLock { $0.append(thread) }
    readerCount.wrappingAdd(1, ordering: .acquiringAndReleasing)
    defer {
      readerCount.wrappingSubtract(1, ordering: .acquiringAndReleasing)
      readers.withLock { readers in
        if let index = readers.lastIndex(of: thread) { readers.remove(at: index) }
      }
    }
    return read()
  }

  /// The same for a value that is only looked at: nothing that is read is followed.
  func asOldReader<Value>(_ read: () -> Value) -> Value {
    if !ObservedProperty.isAnyHandedOver && !Scope.isAnyOpen { return asReader(read) }
    return Scope.with(oldReader) { asReader(read) }
  }

  /// Whether a change was made by getters that this evaluation ran, on whatever thread it is told.
  private func isOwn(_ collector: ReadCollector?) -> Bool {
    guard let collector else { return false }
    return collector === self.collector || collector === oldReader
  }

  /// Whether the calling thread runs the getters on the path.
  private var isReading: Bool {
    if readerCount.load(ordering: .acquiring) == 0 { return false }
    let thread = SourceRegistry.currentThread
    return readers.withLock { $0.contains(thread) }
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

  /// Whether the key path is that of one property of the root, which cannot come to read others.
  var isDirect: Bool { direct.load(ordering: .acquiring) }

  /// Whether the class hands over values of the property of a direct key path.
  var handsOver: Bool { isDirect && directProperty.load()?.handsOver == true }

  /// The number of the newest change of the property of a direct key path; else 0.
  var revision: UInt { isDirect ? directProperty.load()?.revision ?? 0 : 0 }

  /// Reads the value of a direct key path.
  ///
  /// - Returns: The number of the change that stored it.
  func readExactly<Value>(
    with collector: ReadCollector, _ read: () -> Value
  ) -> (value: Value, number: UInt) {
    guard let property = directProperty.load() else { return (read(), 0) }
    // A getter that does not take the lock with the number is asked again, but not for ever: a value that
    // is newer than its number is told once more.
    var attempt = 1
    while true {
      let before = property.revision
      let value = collector.collect(read)
      let reads = collector.take()
      let isExact = reads.count == 1 && reads[0].isExact && reads[0].property === property
      if isExact || property.revision == before || attempt == 8 {
        return (value, isExact ? reads[0].revision : before)
      }
      attempt += 1
    }
  }

  /// Reads the value of a direct key path, to be told.
  func readToTell<Value>(_ read: () -> Value) -> Value {
    let (value, number) = readExactly(with: collector, read)
    readNumber = number
    return value
  }

  /// Takes in that the value which was read last is told: the changes that are part of it are not told any
  /// more.
  func raiseFloor() {
    if let number = readNumber { floor.store(number, ordering: .relaxed) }
    readNumber = nil
  }

  /// Whether a change is part of a value that was read, and so has been told with it.
  func isTold(_ number: UInt) -> Bool { number <= floor.load(ordering: .relaxed) }

  // MARK: Changes of the properties

  /// Whether an event is none of a change of the value.
  private func isIgnored(_ event: ObservedProperty.Event, over link: Link) -> Bool {
    link.hasEnded || (event.maker.isKnown ? isOwn(event.collector) : isReading)
  }

  /// Takes in that a change begins.
  func begin(_ event: ObservedProperty.Event, over link: Link) {
    if isIgnored(event, over: link) { return }
    if event.maker.isKnown && isDirect {
      // The end of the change brings the values.
      var report = ChangeReport(edit: event.edit, changed: ChangedPaths(link.property.path))
      if state.needsPrior && isAtHome { _ = readOld(&report) }
      return
    }
    var beginning = ChangeKeeper.Beginning.known
    idle.store(false, ordering: .relaxed)
    keeper.withLock {
      beginning = $0.begin(
        event, link, on: SourceRegistry.currentThread,
        in: Scope.current?.transaction.map { ObjectIdentifier($0) })
    }
    guard beginning == .new ? state.needsOld : beginning == .newToAll, isAtHome else { return }
    let edit = beginning == .newToAll ? event.edit : nil
    var report = ChangeReport(edit: edit, changed: ChangedPaths(link.property.path))
    let old = readOld(&report)
    keeper.withLock {
      $0.keep(old, report.edit, of: event.maker, on: SourceRegistry.currentThread)
    }
  }

  /// Takes in that a change has ended, and tells it if nobody else is to.
  func end(_ event: ObservedProperty.Event, over link: Link) {
    if let report = take(event, over: link) { tell(report) }
  }

  /// Takes in that a change has ended.
  ///
  /// - Returns: What the caller is to tell now.
  private func take(_ event: ObservedProperty.Event, over link: Link) -> ChangeReport? {
    if isIgnored(event, over: link) { return nil }
    var event = event
    // The values of one property are not those of another key path.
    if !isDirect {
      event.values = nil
      event.old = nil
    }
    if !Scope.isAnyOpen && isAtHome {
      // The common case, with the lock taken once.
      let thread = SourceRegistry.currentThread
      return claim { $0.endAndTell(event, over: link, on: thread) }
    }
    guard let report = keeper.withLock({ $0.end(event, over: link) }) else { return nil }
    guard let transaction = Scope.current?.transaction else { return claimAtHome(report) }
    return keep(report, for: transaction)
  }

  /// Whether this thread may read the key path.
  private var isAtHome: Bool { !traits.isOnMain || SourceRegistry.isOnMain }

  private func claimAtHome(_ report: ChangeReport) -> ChangeReport? {
    if !isAtHome {
      let strays = strays.load() ?? strays.storeIfNil(Strays(of: self))
      strays.reports.post(report)
      return nil
    }
    let thread = SourceRegistry.currentThread
    return claim { $0.beginTelling(report, on: thread) }
  }

  /// Changes that wait for the main actor.
  private final class Strays: Sendable {
    let reports: SourceList<ChangeReport>

    init(of evaluation: Evaluation) {
      reports = SourceRegistry().makeList(of: ChangeReport.self)
      let traits = evaluation.traits
      _ = reports.addConfined(
        owner: nil, on: .mainQueue.ordered, file: traits.file, line: traits.line
      ) { [weak evaluation] report in
        guard let evaluation, let report = evaluation.claimAtHome(report) else { return }
        evaluation.tell(report)
      }
    }
  }

  /// Keeps a report until the transaction ends.
  ///
  /// - Returns: What is to be told at once, since it has ended.
  private func keep(_ report: ChangeReport, for transaction: Transaction) -> ChangeReport? {
    let id = ObjectIdentifier(transaction)
    let thread = SourceRegistry.currentThread
    if !keeper.withLock({ $0.keepBack(report, for: id, on: thread) }) { return nil }
    let key = rootKey
    let take = { [self] in
      guard var report = keeper.withLock({ $0.takeDeferred(for: id) }) else {
        return nil as ChangeReport?
      }
      report.changed.add(before: transaction.changedPaths(of: key))
      return claimAtHome(report)
    }
    return transaction.add(self, take) ? nil : take()
  }

  // MARK: Telling

  /// Keeps what is about to be told, for the changes that go on.
  func keepTold(_ told: AnyObject) {
    var told: AnyObject? = told
    keeper.withLock { $0.keepTold(&told) }
  }

  private func claim(_ begin: (inout ChangeKeeper) -> ChangeReport?) -> ChangeReport? {
    var report: ChangeReport?
    var isBehind = false
    keeper.withLock {
      report = begin(&$0)
      isBehind = $0.isBehind
      if report != nil { depth = $0.depth }
    }
    if let report { prepare(report, isBehind) }
    return report
  }

  private func prepare(_ report: ChangeReport, _ isBehind: Bool) {
    state.tell(report.firstBegan, report.lastBegan)
    // Takes in that the observers know all that was not heard, if what is read next has it.
    if isBehind && upstream?.isQuiet == true { keeper.withLock { $0.isBehind = false } }
  }

  /// Whether the changes of an object that stays in one isolation need not be noted before they are told.
  var isIdle: Bool {
    idle.load(ordering: .relaxed) && !traits.isForAnyThread
      && readerCount.load(ordering: .relaxed) == 0
      && (!traits.isOnMain || SourceRegistry.isOnMain)
  }

  /// Whether no change of another property may go on whose end tells nothing of this one's.
  var mayBePlain: Bool { isDirect || upstream?.isAnnounced == false }

  /// Whether no change goes on of a property that is followed.
  var isQuiet: Bool { upstream?.isQuiet == true }

  /// Tells a change that has not been noted.
  func tellPlainly(_ property: ObservedProperty) {
    beginPlainly()
    deliver(property.path)
    endPlainly()
  }

  /// The same, with the value that the property of a direct key path has now.
  final func tellPlainly<Member>(_ value: Member) {
    beginPlainly()
    deliver(value)
    endPlainly()
  }

  /// The same, with the values before and after.
  final func tellPlainly<Member>(_ old: Member, _ new: Member) {
    beginPlainly()
    deliver(old, new)
    endPlainly()
  }

  private func beginPlainly() {
    plainDepth += 1
    state.tell(.max, .max)
  }

  private func endPlainly() {
    plainDepth -= 1
    if plainDepth > 0 { state.isStale = true }
  }

  /// Follows what a key path reads; changes that come meanwhile are told afterwards.
  func start(_ follow: () -> Void) {
    let thread = SourceRegistry.currentThread
    keeper.withLock {
      $0.reserve(for: thread)
      depth = 1
    }
    follow()
    if let report = goOn() { tell(report) }
  }

  /// Tells a change, and what comes meanwhile.
  private func tell(_ report: ChangeReport) {
    var next: ChangeReport? = report
    while let report = next {
      deliver(report)
      next = goOn()
    }
  }

  /// What is to be told next by the thread that tells.
  private func goOn() -> ChangeReport? {
    var next: ChangeReport?
    var isBehind = false
    if state.isCompared { forgetTold(from: depth) }
    var isNested = false
    var known: AnyObject?
    keeper.withLock {
      next = $0.nextReport()
      known = $0.forgetKnown()
      isBehind = $0.isBehind
      depth = $0.depth
      isNested = depth > 0
      if !$0.isBusy && !isBehind { idle.store(true, ordering: .relaxed) }
    }
    if let next {
      prepare(next, isBehind)
    } else if isNested || plainDepth > 0 {
      state.isStale = true
    }
    withExtendedLifetime(known) {}
    return next
  }

  /// Has several evaluations tell a change, the observers of all of them in the order of their
  /// registration.
  static func end(_ event: ObservedProperty.Event, over followers: [ObservedProperty.Follower]) {
    var telling: [(evaluation: Evaluation, report: ChangeReport)] = []
    for follower in followers {
      if let report = follower.evaluation.take(event, over: follower.link) {
        telling.append((follower.evaluation, report))
      }
    }
    tell(telling)
  }

  /// Tells what several evaluations have to tell.
  static func tell(_ telling: [(evaluation: Evaluation, report: ChangeReport)]) {
    if telling.count == 1 { return telling[0].evaluation.tell(telling[0].report) }
    if telling.isEmpty { return }
    // Who comes meanwhile hears the next change.
    let newest = SourceRegistry.newestID
    let posts = telling.map { $0.evaluation.preparation(of: $0.report) }
    var from: UInt64 = 0
    while true {
      let firsts = telling.map { $0.evaluation.firstObserver(from: from) ?? .max }
      guard let first = firsts.min(), first <= newest, let index = firsts.firstIndex(of: first)
      else { break }
      let limit = firsts.enumerated().filter { $0.offset != index }.map(\.element).min() ?? .max
      posts[index](first...min(limit &- 1, newest))
      if limit > newest { break }
      from = limit
    }
    for one in telling {
      if let next = one.evaluation.goOn() { one.evaluation.tell(next) }
    }
  }
}
