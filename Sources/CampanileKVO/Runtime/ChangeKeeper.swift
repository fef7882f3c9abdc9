import Campanile

/// The changes that an evaluation knows of: which have begun, which have to be delivered, and which
/// thread delivers.
///
/// This is the state machine: its methods return what the caller has to do, outside the lock.
///
/// Values are boxed here, so that no method depends on their type. Unspecialized generic code is
/// several times slower.
struct ChangeKeeper {
  /// Whether the beginning of a change may go unrecorded if no observer needs it.
  private let skipsBeginnings: Bool
  private var pending: [PendingChange] = []
  /// The number of changes that have begun.
  private(set) var begun: UInt = 0
  /// Whether there may be changes whose beginning was not recorded.
  var isBehind = false
  /// The number of reports that are neither deferred nor being delivered.
  private var onTheWay = 0
  /// A report that a transaction has deferred, and the thread of the transaction, which delivers
  /// it.
  private struct Deferred {
    let transaction: ObjectIdentifier
    let thread: UInt
    /// The properties of the observed object that the transaction has changed.
    let changed: () -> ChangedPaths
    var report: ChangeReport

    /// The report, with the names of everything that the transaction has changed.
    var complete: ChangeReport {
      var report = report
      report.changed.add(before: changed())
      return report
    }
  }

  /// The deferred reports, oldest first.
  ///
  /// There is rarely more than one.
  private var deferred: [Deferred] = []
  /// The thread that reads and delivers, or 0, and its nesting depth.
  private var teller: UInt = 0
  private(set) var depth = 0
  /// Whether the change being delivered carries its values.
  ///
  /// A later change must not overtake it.
  private var tellsValues = false
  /// Reports that other threads have left for the delivering thread.
  private var waiting = Fifo<ChangeReport>()
  /// The number of reports that have been handed out for delivery.
  private(set) var toldCount: UInt = 0
  /// The box of the value that observers know while changes are in progress.
  ///
  /// Used if values are compared.
  ///
  /// Before any change is delivered, it is the old value of the first change that has read it. The
  /// other changes may have found what the first one sets.
  private var known: AnyObject?
  /// The number of the change that has read that value; 0 if it has been delivered.
  ///
  /// An undelivered value is not what observers know if an earlier change could not be read and has
  /// not been delivered.
  private var knownBefore: UInt = 0
  /// The boxes of the values that observers joined at while changes were in progress, by their seats.
  ///
  /// Used if they compare values, until they receive a change.
  private var joined: [ObjectIdentifier: AnyObject]?

  init(skipsBeginnings: Bool = false) { self.skipsBeginnings = skipsBeginnings }

  // MARK: Changes of properties

  /// What the caller has to do when a change begins.
  enum Beginning {
    /// Nothing.
    ///
    /// The first change of the transaction, or the enclosing change, has done it.
    case known
    /// Read the old value, if an observer wants it.
    case new
    /// Read the old value, which observers know.
    case newToAll
  }

  /// Records that a change begins.
  ///
  /// - Parameters:
  ///   - thread: The calling thread. Evaluated only if the change is an edit.
  ///   - transaction: The transaction of the change. Evaluated only if a report is deferred.
  mutating func begin(
    _ event: ObservedProperty.Event, _ link: Link, on thread: @autoclosure () -> UInt,
    in transaction: @autoclosure () -> ObjectIdentifier? = nil
  ) -> Beginning {
    // Several links may announce one change of a maker. A change that is known with its values is
    // of one property.
    if !event.maker.isKnown, let index = pending.firstIndex(where: { $0.maker == event.maker }) {
      if !link.hasEnded { pending[index].begin(link) }
      return .known
    }
    // No call would remove a change that begins after `forget`.
    if link.hasEnded { return .known }
    begun &+= 1
    var change = PendingChange(event.maker, link, toldBefore: toldCount, number: begun)
    // If the change began in a transaction and ends after it, it is a separate change.
    if !deferred.isEmpty, let place = transaction().flatMap(place) {
      // A change announced by hand may end on another thread, and be delivered there separately.
      change.old = deferred[place].report.old
      change.isUnread = deferred[place].report.isUnread
      change.firstBegan = deferred[place].report.firstBegan
      change.transaction = deferred[place].transaction
      pending.append(change)
      return .known
    }
    pending.append(change)
    return event.edit != nil && isSettled(for: thread()) ? .newToAll : .new
  }

  /// Whether observers have received all changes except the one that `thread` has begun.
  private func isSettled(for thread: UInt) -> Bool {
    pending.count == 1 && waiting.isEmpty && onTheWay == 0 && deferred.isEmpty && !isBehind
      && (teller == 0 || teller == thread)
  }

  /// Gives a number to changes in progress whose beginning was not recorded.
  mutating func recordPlain() -> UInt {
    isBehind = true
    begun &+= 1
    return begun
  }

  /// Removes the announcements of links that have ended, since the ends of those changes do not
  /// arrive.
  ///
  /// - Returns: The changes without remaining announcements. The caller releases them.
  mutating func forget(_ links: Set<ObjectIdentifier>) -> [PendingChange] {
    for index in pending.indices { pending[index].forget(links) }
    let forgotten = pending.filter(\.isOver)
    if !forgotten.isEmpty { pending.removeAll(where: \.isOver) }
    return forgotten
  }

  /// Stores what was found when a change began.
  ///
  /// - Parameters:
  ///   - old: The box of the old value, if an observer wants it.
  ///   - edit: The edit that the change is, if no other change has begun meanwhile.
  mutating func keep(
    _ old: AnyObject?, _ edit: AnnouncedEdit?, of maker: ObservedProperty.Maker,
    on thread: @autoclosure () -> UInt
  ) {
    guard let index = pending.firstIndex(where: { $0.maker == maker }) else { return }
    pending[index].old = old
    pending[index].isUnread = false
    if known == nil {
      known = old
      knownBefore = pending[index].number
    }
    if edit != nil && isSettled(for: thread()) { pending[index].edit = edit }
  }

  /// Records that a change ends.
  ///
  /// - Returns: What has to be delivered, or `nil` if a change of another property is in progress
  ///   around it.
  mutating func end(_ event: ObservedProperty.Event, over link: Link) -> ChangeReport? {
    let report = report(of: event, over: link)
    if report != nil { onTheWay += 1 }
    return report
  }

  private mutating func report(
    of event: ObservedProperty.Event, over link: Link
  ) -> ChangeReport? {
    if link.hasEnded { return nil }
    var report = ChangeReport(changed: ChangedPaths(link.property.path))
    report.toldBefore = toldCount
    report.values = event.values
    guard let index = pending.firstIndex(where: { $0.maker == event.maker }) else {
      // The change began before the property was followed, or its beginning was not recorded.
      let isUnheard = !skipsBeginnings || link.isUnheard(event.openCount)
      report.old = event.old
      report.firstBegan = isUnheard ? link.began : .max
      report.lastBegan = report.firstBegan
      if event.values != nil { report.edit = event.edit }
      return report
    }
    guard pending[index].end(link), pending[index].isOver else { return nil }
    // There is nearly always exactly one.
    let ended = index == pending.count - 1 ? pending.removeLast() : pending.remove(at: index)
    report.old = ended.old
    report.edit = event.values == nil ? ended.edit : event.edit
    report.toldBefore = ended.toldBefore
    report.firstBegan = ended.firstBegan
    report.lastBegan = ended.number
    report.isUnread = ended.isUnread
    return report
  }

  // MARK: Transactions

  /// Defers a report to the end of a transaction.
  ///
  /// What its place cannot hold is released with the caller's report.
  ///
  /// - Parameters:
  ///   - thread: The calling thread, which is the thread of the transaction.
  ///   - changed: Returns the properties of the observed object that the transaction has changed.
  /// - Returns: Whether this is the first report of the transaction.
  mutating func keepBack(
    _ report: ChangeReport, for transaction: ObjectIdentifier, on thread: UInt,
    changed: @escaping () -> ChangedPaths = { ChangedPaths(nil) }
  ) -> Bool {
    onTheWay -= 1
    if let place = place(of: transaction) {
      deferred[place].report.add(report)
      return false
    }
    deferred.append(
      Deferred(transaction: transaction, thread: thread, changed: changed, report: report))
    return true
  }

  /// The deferred report of a transaction, to be delivered.
  mutating func takeDeferred(for transaction: ObjectIdentifier) -> ChangeReport? {
    guard let place = place(of: transaction) else { return nil }
    onTheWay += 1
    return takeDeferred(at: place)
  }

  /// A deferred report, to be delivered.
  ///
  /// Changes that outlast its transaction have the value before it as their old value until then.
  private mutating func takeDeferred(at place: Int) -> ChangeReport {
    let taken = deferred.remove(at: place)
    var report = taken.complete
    if pending.contains(where: { $0.transaction == taken.transaction }) {
      report.outlasted = [taken.transaction]
    }
    return report
  }

  /// Stores the value that is delivered for transactions, for the changes that outlast them.
  ///
  /// - Parameter told: The box of the value.
  /// - Returns: The boxes that it replaces, to be released outside the lock.
  mutating func keepOld(_ told: AnyObject, after transactions: [ObjectIdentifier]) -> [AnyObject] {
    var replaced: [AnyObject] = []
    for index in pending.indices {
      guard let transaction = pending[index].transaction, transactions.contains(transaction)
      else { continue }
      if let old = pending[index].old { replaced.append(old) }
      pending[index].transaction = nil
      pending[index].old = told
      pending[index].firstBegan = pending[index].number
      pending[index].isUnread = false
    }
    return replaced
  }

  /// Whether a report of a transaction is deferred.
  func isDeferred(for transaction: ObjectIdentifier) -> Bool { place(of: transaction) != nil }

  private func place(of transaction: ObjectIdentifier) -> Int? {
    deferred.firstIndex { $0.transaction == transaction }
  }

  // MARK: Delivering

  /// Makes `thread` the delivering thread, before any other thread has access.
  mutating func reserve(for thread: UInt) {
    teller = thread
    depth = 1
  }

  /// Records that a report is not delivered, because another change is in progress around it.
  mutating func drop() { onTheWay -= 1 }

  /// Combines `end` and `beginTelling`.
  mutating func endAndTell(
    _ event: ObservedProperty.Event, over link: Link, on thread: UInt, waits: Bool = false
  ) -> ChangeReport? {
    guard let report = report(of: event, over: link) else { return nil }
    return tell(report, on: thread, waits)
  }

  /// Returns what `thread` has to deliver, or leaves the report to the delivering thread.
  ///
  /// - Parameter waits: Whether the report waits if `thread` delivers another one already. It does if
  ///   `thread` runs getters of the path, whose value is delivered first.
  mutating func beginTelling(
    _ report: consuming ChangeReport, on thread: UInt, waits: Bool = false
  ) -> ChangeReport? {
    onTheWay -= 1
    return tell(report, on: thread, waits)
  }

  private mutating func tell(
    _ report: consuming ChangeReport, on thread: UInt, _ waits: Bool
  ) -> ChangeReport? {
    while !deferred.isEmpty, let place = deferred.lastIndex(where: { $0.thread == thread }) {
      // Deferred by a transaction of this thread that is delivering to others now. It is delivered
      // with this report.
      var earlier = takeDeferred(at: place)
      earlier.add(report)
      report = earlier
    }
    // A waiting report carries its values, and a later one must not overtake it.
    if teller != 0 && (teller != thread || waits || report.values != nil || tellsValues) {
      waiting.append(report)
      return nil
    }
    teller = thread
    depth += 1
    giveOut(&report)
    return report
  }

  /// The next report for the delivering thread, unless its deliveries are nested.
  mutating func nextReport() -> ChangeReport? {
    if depth == 1, !waiting.isEmpty, var report = waiting.popFirst() {
      giveOut(&report)
      return report
    }
    depth -= 1
    if depth == 0 {
      teller = 0
      tellsValues = false
    }
    return nil
  }

  /// Hands out a report for delivery, with the value that observers know.
  ///
  /// An edit becomes a setting if other reports have been delivered since its change began.
  private mutating func giveOut(_ report: inout ChangeReport) {
    tellsValues = report.values != nil
    if !tellsValues && report.toldBefore != toldCount { report.dropEdit() }
    if let known, knownBefore == 0 || !report.isUnread {
      report.known = known
      report.knownBefore = knownBefore
    }
    toldCount &+= 1
  }

  /// Stores the value that is about to be delivered, for the changes in progress.
  ///
  /// - Parameter told: The box of the value. On return, the previous value, which the caller
  ///   releases.
  mutating func keepTold(_ told: inout AnyObject?) {
    swap(&known, &told)
    knownBefore = 0
  }

  /// Stores the value that is being delivered in the place of one that has been delivered.
  ///
  /// - Parameter told: The box of the value. On return, the previous value, which the caller
  ///   releases.
  mutating func replaceTold(_ told: inout AnyObject?) {
    if known != nil && knownBefore == 0 { swap(&known, &told) }
  }

  /// Records the value that an observer joins at, if a change may be in progress.
  ///
  /// - Parameters:
  ///   - value: The box of the value, or `nil` for none. On return, the value of an earlier seat at
  ///     this address, which the caller releases.
  ///   - seat: The seat of the observer.
  mutating func join(_ value: inout AnyObject?, by seat: ObjectIdentifier) {
    if !mayBeBusy { value = nil }
    if value == nil && joined == nil { return }
    let before = joined?[seat]
    joined = joined ?? [:]
    joined?[seat] = value
    value = before
  }

  /// The box of the value that an observer joined at, if it is known.
  func joined(by seat: ObjectIdentifier) -> AnyObject? { joined?[seat] }

  /// Boxes of values that no change can need any more.
  typealias Forgotten = (known: AnyObject?, joined: [ObjectIdentifier: AnyObject]?)

  /// Forgets the values that observers know, once no change can need them.
  ///
  /// The caller releases them.
  mutating func forgetKnown() -> Forgotten {
    if isBusy { return (nil, nil) }
    return (known.take(), isBehind ? nil : joined.take())
  }

  /// Whether a change is in progress, or may be one whose beginning was not recorded.
  var mayBeBusy: Bool { isBusy || isBehind }

  /// Whether a recorded change has not ended.
  var isInChange: Bool { !pending.isEmpty }

  /// Whether a change has begun and has not been delivered.
  var isBusy: Bool {
    !pending.isEmpty || !waiting.isEmpty || depth > 0 || onTheWay > 0 || !deferred.isEmpty
  }
}
