import Campanile

/// Follows a key path of one object: knows which properties it is made of, reads its values, and
/// posts its changes to a list of its own.
///
/// ## Who keeps whom
///
/// The properties keep their registrations, those keep the observation, and it keeps the list of its
/// changes. The observer in that list keeps `upstream`, the registrations at the properties. So the
/// observation lives until the observer's registration ends, or all objects it follows have died.
///
/// ## Isolation
///
/// An observation of a key path that is not Sendable is in the hands of the isolation of its objects.
/// Any other one is called by the threads that change them, at once: its state is behind a lock, and
/// one of them reads and tells at a time.
final class KeyPathObservation<Root: AnyObject, Value> {
  /// What is observed, and how.
  struct Plan {
    weak let root: Root?
    let read: (Root) -> Value
    let path: KVOPath
    let options: KVOOptions<Value>
    /// Whether the key path is read on the main actor alone.
    let isOnMain: Bool
    let file: StaticString
    let line: UInt
  }

  let plan: Plan
  /// Those who are told.
  let changes: SourceList<KVOChange<Value>>
  private weak let owner: AnyObject?
  private weak let upstream: Upstream?
  private let rootID: ObjectIdentifier
  private let state = Locked(State())
  /// Where changes wait for the main actor that were made elsewhere.
  private let strayed: SourceList<Report>

  /// A change that has been made and is to be told.
  struct Report {
    var old: Value?
    var edit: CollectionEdit?
    var changed: [KVOPath]

    mutating func add(_ later: Report) {
      if old == nil { old = later.old }
      edit = nil
      for path in later.changed where !changed.contains(path) { changed.append(path) }
    }
  }

  /// A change that has begun and not ended.
  private struct Pending {
    let maker: ObservedProperty.Maker
    /// The properties that have announced it, the outermost first.
    var open: [ObjectIdentifier]
    var old: Value?
  }

  /// Protected by the lock.
  private struct State {
    var pending: [Pending] = []
    /// What a transaction has kept back.
    var deferred: Report?
    /// The thread that reads and tells, or 0, and how often it is inside.
    var teller: UInt = 0
    var depth = 0
    /// What other threads have left for it.
    var waiting: [Report] = []
    /// Whether the key path is that of one property of the root, which cannot come to read others.
    var isDirect = false
  }

  init(
    _ plan: Plan, root: Root, owner: AnyObject?, upstream: Upstream,
    onError: (@Sendable (ObserverFailure) -> Void)?
  ) {
    self.plan = plan
    self.owner = owner
    self.upstream = upstream
    rootID = ObjectIdentifier(root)
    let registry = SourceRegistry(onError: onError)
    changes = registry.makeList(of: KVOChange<Value>.self)
    strayed = registry.makeList(of: Report.self)
  }

  deinit { changes.finish() }

  // MARK: Following

  /// Begins to follow, and makes the initial call if one was asked for.
  func start(for registration: Registration?) {
    guard let root = plan.root else { return changes.finish() }
    if plan.isOnMain {
      _ = strayed.addConfined(
        owner: nil, on: .mainQueue.ordered, file: plan.file, line: plan.line
      ) { [weak self] report in self?.tell(report) }
    }
    let thread = SourceRegistry.currentThread
    // Changes that come meanwhile are told afterwards.
    state.withLock { state in
      state.teller = thread
      state.depth = 1
    }
    let value = follow(root)
    if plan.options.isInitial, let registration {
      let change = KVOChange(
        phase: .initial, kind: .setting, old: nil, new: value, indexes: nil, path: plan.path,
        changedPaths: [])
      Scope.withObservers { changes.post(change, onlyTo: registration) }
    }
    while let report = nextReport() { deliver(report) }
  }

  /// Reads the value, and follows the properties that it was read from.
  private func follow(_ root: Root) -> Value {
    while true {
      let (value, reads) = ReadCollector.collect { plan.read(root) }
      guard let upstream, !upstream.isFollowing(reads) else { return value }
      upstream.follow(reads) { property in
        let registration = property.events.addConfined(
          owner: owner, file: plan.file, line: plan.line,
          onEnd: { [changes, rootID, subject = property.subject] in
            if subject.hasEnded && subject.id == rootID { changes.finish() }
          }
        ) { [self] event in receive(event, from: property) }
        return registration
      }
      // Not in a subclass, which can override the property and read others.
      let isDirect =
        reads.count == 1 && reads[0].property.subject.id == rootID
        && reads[0].property.path == plan.path && plan.path.identity.rootType == type(of: root)
      state.withLock { $0.isDirect = isDirect }
      // What changed between the reading and the following is read again.
      if reads.allSatisfy({ $0.property.revision == $0.revision }) { return value }
    }
  }

  /// The value now.
  private func read(_ root: Root) -> Value {
    state.withLock { $0.isDirect } ? plan.read(root) : follow(root)
  }

  // MARK: Changes of the properties

  private func receive(_ event: ObservedProperty.Event, from property: ObservedProperty) {
    switch event.phase {
    case .willChange: begin(event, property)
    case .didChange: end(event, property)
    }
  }

  private func begin(_ event: ObservedProperty.Event, _ property: ObservedProperty) {
    let (isFirst, isDeferred) = state.withLock { state in
      if let index = state.pending.firstIndex(where: { $0.maker == event.maker }) {
        state.pending[index].open.append(ObjectIdentifier(property))
        return (false, false)
      }
      state.pending.append(Pending(maker: event.maker, open: [ObjectIdentifier(property)]))
      return (true, state.deferred != nil)
    }
    // In a transaction the first change has read the old value, and told the prior one.
    guard isFirst, !isDeferred, plan.options.needsOld, isAtHome, let root = plan.root else {
      return
    }
    let old = plan.read(root)
    state.withLock { state in
      guard let index = state.pending.firstIndex(where: { $0.maker == event.maker }) else { return }
      state.pending[index].old = old
    }
    if plan.options.isPrior { post(.prior, old, old, event.edit, [property.path]) }
  }

  private func end(_ event: ObservedProperty.Event, _ property: ObservedProperty) {
    let ended = state.withLock { state -> Pending? in
      guard let index = state.pending.firstIndex(where: { $0.maker == event.maker }),
        let place = state.pending[index].open.lastIndex(of: ObjectIdentifier(property))
      else { return nil }
      state.pending[index].open.remove(at: place)
      return state.pending[index].open.isEmpty ? state.pending.remove(at: index) : nil
    }
    // One that began before this observation did is not its business.
    guard let ended else { return }
    let report = Report(old: ended.old, edit: event.edit, changed: [property.path])
    if Scope.isAnyOpen, let transaction = Scope.current.transaction {
      if keep(report, for: transaction) { return }
    }
    if isAtHome {
      tell(report)
    } else {
      strayed.post(report)
    }
  }

  /// Whether this thread may read the key path.
  private var isAtHome: Bool { !plan.isOnMain || SourceRegistry.isOnMain }

  // MARK: Transactions

  /// Keeps a report until the transaction ends.
  private func keep(_ report: Report, for transaction: Transaction) -> Bool {
    let isFirst = state.withLock { state in
      defer { merge(report, &state) }
      return state.deferred == nil
    }
    if !isFirst { return true }
    let isKept = transaction.add { [self, rootID] in
      let deferred = state.withLock { state in
        defer { state.deferred = nil }
        return state.deferred
      }
      guard var report = deferred else { return }
      for path in transaction.changedPaths(of: rootID) where !report.changed.contains(path) {
        report.changed.append(path)
      }
      if isAtHome { tell(report) } else { strayed.post(report) }
    }
    if !isKept { state.withLock { $0.deferred = nil } }
    return isKept
  }

  private func merge(_ report: Report, _ state: inout State) {
    if state.deferred == nil { state.deferred = report } else { state.deferred?.add(report) }
  }

  // MARK: Telling

  /// Tells a change, or leaves it to the thread that tells.
  private func tell(_ report: Report) {
    let thread = SourceRegistry.currentThread
    let first = state.withLock { state -> Report? in
      var report = report
      if var deferred = state.deferred.take() {
        // Kept back by a transaction that is telling others now: told with this one.
        deferred.add(report)
        report = deferred
      }
      if state.teller != 0 && state.teller != thread {
        state.waiting.append(report)
        return nil
      }
      state.teller = thread
      state.depth += 1
      return report
    }
    var next = first
    while let report = next {
      deliver(report)
      next = nextReport()
    }
  }

  /// What is to be told next by this thread, if it is not inside its own telling.
  private func nextReport() -> Report? {
    state.withLock { state in
      if state.depth == 1 && !state.waiting.isEmpty { return state.waiting.removeFirst() }
      state.depth -= 1
      if state.depth == 0 { state.teller = 0 }
      return nil
    }
  }

  private func deliver(_ report: Report) {
    guard let root = plan.root else { return }
    let new = read(root)
    if let areEqual = plan.options.areEqual, let old = report.old, areEqual(old, new) { return }
    post(.changed, report.old, new, report.edit, report.changed)
  }

  private func post(
    _ phase: KVOPhase, _ old: Value?, _ new: Value, _ edit: CollectionEdit?, _ changed: [KVOPath]
  ) {
    let edit = edit.flatMap { edit in
      state.withLock { $0.isDirect } || edit.isAbout(new) ? edit : nil
    }
    let change = KVOChange(
      phase: phase, kind: edit?.kind ?? .setting, old: plan.options.wantsOld ? old : nil, new: new,
      indexes: edit?.indexes, path: plan.path, changedPaths: changed)
    Scope.withObservers { changes.post(change) }
  }
}
