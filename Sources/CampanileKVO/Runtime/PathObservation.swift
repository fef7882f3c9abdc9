import Campanile
import Synchronization

/// The part of an observation that does not depend on the types of the object and the value: it
/// hears of the changes of the properties on the key path, and has them told once, in order, one at
/// a time.
///
/// ## Who keeps whom
///
/// The properties keep their registrations, those keep the observation, and it keeps the list of
/// its changes. The observer in that list keeps `upstream`, the registrations at the properties. So
/// the observation lives until the observer's registration ends, or all objects it follows have
/// died.
///
/// ## Isolation
///
/// An observation of a key path that is not Sendable is in the hands of the isolation of its
/// objects. Any other one is called by the threads that change them, at once: its state is behind a
/// lock, each of them may read the old value, and one of them reads the new one and tells at a
/// time.
class PathObservation {
  typealias Report = ChangeKeeper.Report

  let traits: Traits
  let rootID: ObjectIdentifier
  /// The key by which a transaction knows the root.
  private let rootKey: ObjectIdentifier
  private weak let owner: AnyObject?
  private weak let upstream: Upstream?
  // SAFETY: the values in it stay in the isolation of those that change the object.
  private let keeper: UncheckedLock<ChangeKeeper>
  private let collector = ReadCollector()
  private let direct = Atomic<Bool>(false)
  /// The property of a direct key path; used by the thread that tells.
  private var directProperty: ObservedProperty?
  /// The number of the change that stored the value which was read last; used by the thread that tells.
  private var readNumber: UInt?
  /// Stands for the reading of an old value, in which nothing is collected; none if none is read.
  private let oldReader: ReadCollector?
  /// The newest change of that property that is part of a value which was read.
  private let floor = Atomic<UInt>(0)
  /// The threads that run the getters on the path, each as often as it is inside.
  private let readers = Locked<[UInt]>([])
  /// How many these are, so that a change takes no lock to see that there is none.
  private let readerCount = Atomic<Int>(0)
  /// Where changes wait for the main actor that were made elsewhere.
  private let strayed: SourceList<Report>?

  /// What is the same for all values.
  struct Traits {
    let path: KVOPath
    /// Whether the value is to be read before a change.
    let needsOld: Bool
    /// Whether there is a call before a change.
    let isPrior: Bool
    /// Whether the values that are told are compared.
    let isDistinct: Bool
    /// Whether the key path is read on the main actor alone.
    let isOnMain: Bool
    let file: StaticString
    let line: UInt
  }

  init(
    _ traits: Traits, root: AnyObject, owner: AnyObject?, upstream: Upstream,
    _ registry: SourceRegistry
  ) {
    self.traits = traits
    oldReader = traits.needsOld ? ReadCollector(isOfKnown: true) : nil
    keeper = UncheckedLock(ChangeKeeper(isDistinct: traits.isDistinct))
    self.owner = owner
    self.upstream = upstream
    rootID = ObjectIdentifier(root)
    rootKey = SubjectIdentity.key(of: root)
    strayed = traits.isOnMain ? registry.makeList(of: Report.self) : nil
  }

  // MARK: What depends on the types

  /// The box of the value now, which is told as the prior one if that was asked for.
  ///
  /// It drops the edit of a report that does not begin with that value.
  func readOld(_ report: inout Report) -> AnyObject? { nil }
  /// Reads the new value, and tells the change.
  func deliver(_ report: Report) {}
  /// Ends the observation of an object that has died.
  var end: @Sendable () -> Void { {} }

  // MARK: Following

  /// Takes the telling, so that changes which come meanwhile wait until `open`.
  ///
  /// - Parameter isInitial: Whether the observer is told the value that there is.
  func reserve(isInitial: Bool) {
    _ = strayed?.addConfined(
      owner: nil, on: .mainQueue.ordered, file: traits.file, line: traits.line
    ) { [weak self] report in self?.tell(report) }
    let thread = SourceRegistry.currentThread
    keeper.withLock { $0.reserve(for: thread, isInitial: isInitial) }
  }

  /// Tells what came meanwhile.
  func open() {
    tell { $0.nextReport() }
  }

  /// Runs `read`, and follows the properties that it reads.
  ///
  /// - Returns: Whether the changes that are heard are those from the last call of `read` on: none came
  ///   between that and the following of what it read.
  @discardableResult
  func follow(_ read: () -> Void, isOwn: (_ root: any Any.Type) -> Bool) -> Bool {
    while true {
      collector.collect { asReader(read) }
      guard let upstream else {
        collector.clear()
        return true
      }
      var revision: UInt?
      guard let reads = collector.take(unlessFollowedBy: upstream, &revision) else {
        // What was followed already when it was read.
        if isDirect, let revision { floor.store(revision, ordering: .relaxed) }
        return revision != nil
      }
      // Not in a subclass, which can override the property and read others.
      let isDirect =
        reads.count == 1 && reads[0].property.subject.id == rootID
        && reads[0].property.path == traits.path && isOwn(traits.path.identity.rootType)
      if isDirect { directProperty = reads[0].property }
      direct.store(isDirect, ordering: .releasing)
      forget(upstream.follow(reads, register))
      // Of changes that go on, only the end will be heard.
      if !reads.allSatisfy({ $0.property.begun == $0.revision }) {
        keeper.withLock { $0.isBehind = true }
      }
      // What changed between the reading and the following is read again.
      if reads.allSatisfy({ $0.property.revision == $0.revision }) {
        if isDirect { floor.store(reads[0].revision, ordering: .relaxed) }
        return true
      }
    }
  }

  /// Whether a property is followed, or the observer has gone, for whom none is.
  var followsSomething: Bool { upstream?.isEmpty != true }

  /// Runs getters: what they change themselves is no change of their value.
  func asReader(_ read: () -> Void) {
    let thread = SourceRegistry.currentThread
    readers.withLock { $0.append(thread) }
    readerCount.wrappingAdd(1, ordering: .acquiringAndReleasing)
    read()
    readerCount.wrappingSubtract(1, ordering: .acquiringAndReleasing)
    readers.withLock { readers in
      if let index = readers.lastIndex(of: thread) { readers.remove(at: index) }
    }
  }

  /// The same for an old value: nothing that is read is followed.
  func asOldReader(_ read: () -> Void) {
    if !ObservedProperty.isAnyHandedOver { return asReader(read) }
    Scope.with(oldReader) { asReader(read) }
  }

  /// Whether a change was made by getters that this observation ran, on whatever thread it is told.
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

  private func register(_ link: Link) -> Registration {
    link.property.events.addConfined(
      owner: owner, file: traits.file, line: traits.line,
      onEnd: { [rootID, subject = link.property.subject, end] in
        if subject.hasEnded && subject.id == rootID { end() }
      }
    ) { [self] event in receive(event, over: link) }
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
  var handsOver: Bool { directProperty?.handsOver == true }

  /// Reads the value of a direct key path, and the number of the change that stored it.
  func readExactly(_ read: () -> Void) {
    guard let property = directProperty else { return read() }
    // A getter that does not take the lock with the number is asked again, but not for ever: a value that
    // is newer than its number is told once more.
    for attempt in 1... {
      let before = property.revision
      collector.collect(read)
      let reads = collector.take()
      let isExact = reads.count == 1 && reads[0].isExact && reads[0].property === property
      if isExact || property.revision == before || attempt == 8 {
        readNumber = isExact ? reads[0].revision : before
        return
      }
    }
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

  private func receive(_ event: ObservedProperty.Event, over link: Link) {
    if event.maker.isKnown ? isOwn(event.collector) : isReading { return }
    switch event.phase {
    case .willChange: begin(event, over: link)
    case .didChange:
      if event.values == nil || isDirect { return end(event, over: link) }
      // The values of one property are not those of another key path.
      var event = event
      event.values = nil
      end(event, over: link)
    }
  }

  private func begin(_ event: ObservedProperty.Event, over link: Link) {
    if event.maker.isKnown && isDirect {
      // The end of the change brings the values.
      var report = Report(edit: event.edit, changed: ChangedPaths(link.property.path))
      if traits.isPrior && isAtHome { _ = readOld(&report) }
      return
    }
    var beginning = ChangeKeeper.Beginning.known
    keeper.withLock {
      beginning = $0.begin(
        event, link, on: SourceRegistry.currentThread,
        in: Scope.current?.transaction.map { ObjectIdentifier($0) })
    }
    guard beginning == .new ? traits.needsOld : beginning == .newToAll, isAtHome else { return }
    let edit = beginning == .newToAll ? event.edit : nil
    var report = Report(edit: edit, changed: ChangedPaths(link.property.path))
    let old = readOld(&report)
    keeper.withLock {
      $0.keep(old, report.edit, of: event.maker, on: SourceRegistry.currentThread)
    }
  }

  private func end(_ event: ObservedProperty.Event, over link: Link) {
    if !Scope.isAnyOpen && isAtHome {
      // The common case, with the lock taken once.
      let thread = SourceRegistry.currentThread
      tell { $0.endAndTell(event, over: link, on: thread) }
    } else if let report = keeper.withLock({ $0.end(event, over: link) }) {
      if let transaction = Scope.current?.transaction {
        keep(report, for: transaction)
      } else {
        tellAtHome(report)
      }
    }
  }

  /// Whether this thread may read the key path.
  private var isAtHome: Bool { !traits.isOnMain || SourceRegistry.isOnMain }

  private func tellAtHome(_ report: Report) {
    if isAtHome { tell(report) } else { strayed?.post(report) }
  }

  /// Keeps a report until the transaction ends.
  private func keep(_ report: Report, for transaction: Transaction) {
    let id = ObjectIdentifier(transaction)
    let thread = SourceRegistry.currentThread
    if !keeper.withLock({ $0.keepBack(report, for: id, on: thread) }) { return }
    let tell = { [self] in
      guard var report = keeper.withLock({ $0.takeDeferred(for: id) }) else { return }
      report.changed.add(before: transaction.changedPaths(of: rootKey))
      tellAtHome(report)
    }
    // A task that has taken it over may outlive it.
    if !transaction.add(tell) { tell() }
  }

  /// Tells a change, or leaves it to the thread that tells.
  private func tell(_ report: Report) {
    let thread = SourceRegistry.currentThread
    tell { $0.beginTelling(report, on: thread) }
  }

  /// Tells what `begin` returns, and what comes meanwhile.
  private func tell(_ begin: (inout ChangeKeeper) -> Report?) {
    var next: Report?
    var isBehind = false
    keeper.withLock {
      next = begin(&$0)
      isBehind = $0.isBehind
    }
    while let report = next {
      if isBehind { catchUp() }
      deliver(report)
      var following: Report?
      keeper.withLock {
        following = $0.nextReport()
        isBehind = $0.isBehind
      }
      // Not under the lock, where it would release the values of the one before.
      next = following
    }
    if traits.isDistinct { forgetKnown() }
  }

  /// Takes in that the observer knows all that it had not heard, if what is read next has it.
  private func catchUp() {
    if upstream?.isQuiet == true { keeper.withLock { $0.isBehind = false } }
  }

  /// Keeps what is about to be told for the changes that go on.
  func keepTold(_ box: () -> AnyObject) {
    var told: AnyObject?
    while !keeper.withLock({ $0.keepTold(&told) }) { told = box() }
  }

  /// Lets go of what the observer knows, once no change can ask for it.
  private func forgetKnown() {
    var known: AnyObject?
    keeper.withLock { known = $0.forgetKnown() }
    withExtendedLifetime(known) {}
  }
}
