import Campanile
import Synchronization

/// Recording changes, and delivering them.
extension Evaluation {
  /// Whether an event is not a change of the value.
  private func isIgnored(_ event: ObservedProperty.Event, over link: Link) -> Bool {
    if link.hasEnded { return true }
    if event.maker.isKnown { return isOwn(event.collector) }
    // An observer that a getter's change has called makes another change. It has a scope without a
    // collector. Without a scope, a getter reads an old value.
    return isReading && (event.collector != nil || Scope.current == nil)
  }

  /// Records that a change begins, and reads the old value if an observer wants it.
  ///
  /// - Returns: The prior call that is to be made, if any.
  func begin(_ event: ObservedProperty.Event, over link: Link) -> PriorCall? {
    if state.isUnused && endIfUnused() || isIgnored(event, over: link) { return nil }
    var prior: PriorCall?
    if event.maker.isKnown && isDirect {
      // The values arrive with the end of the change.
      var report = ChangeReport(edit: event.edit, changed: ChangedPaths(link.property.path))
      if state.needsPrior && isAtHome { _ = readOld(&report, &prior) }
      return prior
    }
    var beginning = ChangeKeeper.Beginning.known
    keeper.withLock {
      idle.store(false, ordering: .relaxed)
      beginning = $0.begin(
        event, link, on: SourceRegistry.currentThread,
        in: Scope.current?.transaction.map { ObjectIdentifier($0) })
    }
    guard beginning == .new ? state.needsOld : beginning == .newToAll, isAtHome else { return nil }
    let edit = beginning == .newToAll ? event.edit : nil
    var report = ChangeReport(edit: edit, changed: ChangedPaths(link.property.path))
    let old = readOld(&report, &prior)
    keeper.withLock {
      $0.keep(old, report.edit, of: event.maker, on: SourceRegistry.currentThread)
    }
    return prior
  }

  /// Records that a change has ended, and delivers it unless another thread does.
  func end(_ event: ObservedProperty.Event, over link: Link) {
    var strays = Strays()
    let report = take(event, over: link, &strays)
    strays.post()
    if let report { tell(report) }
  }

  /// Records that a change has ended.
  ///
  /// - Parameter strays: Receives what the caller has to post to the main actor.
  /// - Returns: What the caller has to deliver now.
  fileprivate func take(
    _ event: ObservedProperty.Event, over link: Link, _ strays: inout Strays
  ) -> ChangeReport? {
    if isIgnored(event, over: link) { return nil }
    var event = event
    // The values of one property are not the values of another key path.
    if !isDirect {
      event.values = nil
      event.old = nil
    }
    if !Scope.isAnyOpen && isAtHome && (request.isForAnyThread || !isInPlainChange) {
      // The common case: the lock is taken once.
      let thread = SourceRegistry.currentThread
      return claim { $0.endAndTell(event, over: link, on: thread, waits: $1) }
    }
    guard let report = keeper.withLock({ $0.end(event, over: link) }) else { return nil }
    guard let transaction = Scope.current?.transaction else { return claim(report, &strays) }
    return keep(report, for: transaction, of: link.property, event.number, &strays)
  }

  /// Whether this thread may read the key path.
  private var isAtHome: Bool { !request.isOnMain || SourceRegistry.isOnMain }

  private func claim(
    _ report: ChangeReport, waits: Bool = false, _ strays: inout Strays
  ) -> ChangeReport? {
    if isAtHome { return claimAtHome(report, waits: waits) }
    strays.add(report, of: self)
    return nil
  }

  fileprivate func claimAtHome(_ report: ChangeReport, waits: Bool = false) -> ChangeReport? {
    let thread = SourceRegistry.currentThread
    if isInsidePlainChange {
      // The enclosing change delivers it at its end.
      var forgotten: ChangeKeeper.Forgotten?
      keeper.withLock {
        $0.drop()
        forgotten = $0.forgetKnown()
        if !$0.isBusy { idle.store(true, ordering: .relaxed) }
      }
      withExtendedLifetime(forgotten) {}
      return nil
    }
    return claim { $0.beginTelling(report, on: thread, waits: $1 || waits) }
  }

  /// Whether a change is in progress whose beginning was not recorded, and whose end will be
  /// delivered.
  private var isInsidePlainChange: Bool {
    !request.isForAnyThread && isInPlainChange && keeper.withLock { !$0.isInChange && !$0.isBehind }
  }

  /// Defers a report to the end of the transaction.
  ///
  /// - Parameter number: The number of the change of `property`.
  /// - Returns: What has to be delivered at once, because the transaction has ended.
  private func keep(
    _ report: ChangeReport, for transaction: Transaction, of property: ObservedProperty,
    _ number: UInt, _ strays: inout Strays
  ) -> ChangeReport? {
    let id = ObjectIdentifier(transaction)
    let thread = SourceRegistry.currentThread
    let changed = { [rootKey] in transaction.changedPaths(of: rootKey) }
    if !keeper.withLock({ $0.keepBack(report, for: id, on: thread, changed: changed) }) {
      return nil
    }
    let take = { [self] (waits: Bool, strays: inout Strays) in
      keeper.withLock { $0.takeDeferred(for: id) }.flatMap {
        claim($0, waits: waits || handsOver, &strays)
      }
    }
    return transaction.add(self, property, number, take) ? nil : take(false, &strays)
  }

  // MARK: Delivering

  private func claim(
    _ begin: (inout ChangeKeeper, _ isReading: Bool) -> ChangeReport?
  ) -> ChangeReport? {
    var report: ChangeReport?
    var isBehind = false
    let isReading = isReading
    keeper.withLock {
      report = begin(&$0, isReading)
      isBehind = $0.isBehind
      if report == nil { return }
      depth = $0.depth
      idle.store(false, ordering: .relaxed)
    }
    if let report { prepare(report, isBehind) }
    return report
  }

  private func prepare(_ report: ChangeReport, _ isBehind: Bool) {
    began.append((report.firstBegan, report.lastBegan))
    state.tell(report.firstBegan, report.lastBegan)
    // If the value that is read next includes all unrecorded changes, observers then know them.
    if isBehind && isQuiet { keeper.withLock { $0.isBehind = false } }
  }

  /// Follows what a key path reads.
  ///
  /// Changes that are made meanwhile are delivered afterwards.
  func start(_ follow: () -> Void) {
    let thread = SourceRegistry.currentThread
    keeper.withLock {
      $0.reserve(for: thread)
      depth = 1
    }
    follow()
    if let report = goOn() { tell(report) }
  }

  /// Delivers a change, and the changes that are made meanwhile.
  fileprivate func tell(_ report: ChangeReport) {
    var next: ChangeReport? = report
    while let report = next {
      deliver(report)
      next = goOn()
    }
  }

  /// The next report for the delivering thread.
  fileprivate func goOn() -> ChangeReport? {
    var next: ChangeReport?
    var isBehind = false
    _ = began.popLast()
    // Also after observers have stopped comparing values.
    forgetTold(from: depth)
    var isNested = false
    var forgotten: ChangeKeeper.Forgotten?
    keeper.withLock {
      next = $0.nextReport()
      forgotten = $0.forgetKnown()
      isBehind = $0.isBehind
      depth = $0.depth
      isNested = depth > 0
      if !$0.isBusy && !isBehind { idle.store(true, ordering: .relaxed) }
    }
    if let next {
      prepare(next, isBehind)
    } else if isNested || plainDepth > 0 {
      state.goBack(to: began.last ?? (.max, .max))
    }
    withExtendedLifetime(forgotten) {}
    return next
  }
}

/// What one change has to deliver on the main actor, if another thread has made it.
struct Strays {
  private typealias Reports = [(state: EvaluationState, report: ChangeReport)]
  private var reports: Reports = []

  /// The posts for all objects, in their order.
  private static let posts: SourceList<Reports> = {
    let posts = SourceRegistry().makeList(of: Reports.self)
    _ = posts.addConfined(on: .mainQueue.ordered, file: #fileID, line: #line) { reports in
      // An evaluation may have ended meanwhile.
      Evaluation.tell(
        reports.compactMap { state, report in
          guard let evaluation = state.evaluation else { return nil }
          return evaluation.claimAtHome(report).map { (evaluation, $0) }
        })
    }
    return posts
  }()

  mutating func add(_ report: ChangeReport, of evaluation: Evaluation) {
    reports.append((evaluation.state, report))
  }

  /// Posts everything at once, so that all observers are called in the order of their registration.
  func post() { if !reports.isEmpty { Self.posts.post(reports) } }
}

extension Evaluation {
  /// Begins a change in several evaluations.
  ///
  /// All have recorded it, and read the old value, before an observer of one of them makes another
  /// change in its prior call.
  static func begin(_ event: ObservedProperty.Event, over followers: [ObservedProperty.Follower]) {
    let priors = followers.map { ($0.link, $0.evaluation.begin(event, over: $0.link)) }
    for (link, prior) in priors { prior?(link) }
  }

  /// Ends a change in several evaluations.
  ///
  /// The observers of all of them are called in the order of their registration.
  static func end(_ event: ObservedProperty.Event, over followers: [ObservedProperty.Follower]) {
    var telling: [(evaluation: Evaluation, report: ChangeReport)] = []
    var strays = Strays()
    for follower in followers {
      if let report = follower.evaluation.take(event, over: follower.link, &strays) {
        telling.append((follower.evaluation, report))
      }
    }
    strays.post()
    tell(telling)
  }

  /// Delivers the reports of several evaluations, and the changes that are made meanwhile.
  static func tell(_ telling: [(evaluation: Evaluation, report: ChangeReport)]) {
    var next = telling
    while next.count > 1 {
      tellMerged(next)
      next = next.compactMap { one in one.evaluation.goOn().map { (one.evaluation, $0) } }
    }
    if let last = next.first { last.evaluation.tell(last.report) }
  }

  private static func tellMerged(_ telling: [(evaluation: Evaluation, report: ChangeReport)]) {
    // An observer that registers meanwhile receives the next change.
    let newest = SourceRegistry.newestID
    let posts = telling.map { $0.evaluation.preparation(of: $0.report) }
    var silent = Set(telling.indices)
    var turns = Turns()
    func add(_ index: Int, from id: UInt64) {
      guard let id = telling[index].evaluation.firstObserver(from: id), id <= newest else { return }
      turns.insert(Turns.Turn(id: id, index: index))
    }
    for index in telling.indices { add(index, from: 0) }
    while let turn = turns.popFirst() {
      // Up to the next observer of another evaluation. If that one has ended meanwhile, the turns
      // are only shorter than they could be.
      let last = turns.first.map { $0.id - 1 } ?? newest
      posts[turn.index](turn.id...last)
      silent.remove(turn.index)
      if last < newest { add(turn.index, from: last + 1) }
    }
    // An evaluation without observers to call may have a new observer.
    for index in silent { telling[index].evaluation.followAnew(after: telling[index].report) }
  }
}
