import Campanile

/// What an evaluation knows of changes: which have begun, which are to be told, who tells.
///
/// It decides; what it returns is to be done, under no lock.
///
/// Values are boxed here, so that none of this depends on their type: generic code that is compiled
/// for no type in particular is several times slower.
struct ChangeKeeper {
  /// Whether the beginnings of changes may be left out that nobody needs to hear.
  private let skipsBeginnings: Bool
  private var pending: [PendingChange] = []
  /// How many changes have begun.
  private(set) var begun: UInt = 0
  /// Whether there may be changes whose beginning was not heard.
  var isBehind = false
  /// How many reports have been made that are neither kept back nor being told.
  private var onTheWay = 0
  /// What a transaction has kept back, and its thread, which is to tell it.
  private struct Deferred {
    let transaction: ObjectIdentifier
    let thread: UInt
    var report: ChangeReport
  }

  /// What transactions have kept back, oldest first: seldom are there two.
  private var deferred: [Deferred] = []
  /// The thread that reads and tells, or 0, and how often it is inside.
  private var teller: UInt = 0
  private(set) var depth = 0
  /// Whether what it tells carries values of its own, which nothing is to overtake.
  private var tellsValues = false
  /// What other threads have left for it.
  private var waiting = Fifo<ChangeReport>()
  /// How many reports have been given out to be told.
  private(set) var toldCount: UInt = 0
  /// The box of the value that observers know while changes go on, of values that are compared.
  ///
  /// Before any of them is told it is the old value of the first one that has read it: the others may
  /// have found what that one sets.
  private var known: AnyObject?
  /// Whether that value has been told.
  ///
  /// Else it is not the observers' if there are changes, not told yet, before which it could not be
  /// read.
  private var isKnownTold = false

  init(skipsBeginnings: Bool = false) { self.skipsBeginnings = skipsBeginnings }

  // MARK: Changes of the properties

  /// What is to be done when a change begins.
  enum Beginning {
    /// Nothing: in a transaction the first change has done it, and so has the change around another.
    case known
    /// The old value is to be read, if one is wanted.
    case new
    /// The same, and observers know the old value.
    case newToAll
  }

  /// Notes that a change begins.
  ///
  /// - Parameters:
  ///   - thread: The calling thread, which is asked for if the change is an edit.
  ///   - transaction: That which it is made in, which is asked for if one keeps something back.
  mutating func begin(
    _ event: ObservedProperty.Event, _ link: Link, on thread: @autoclosure () -> UInt,
    in transaction: @autoclosure () -> ObjectIdentifier? = nil
  ) -> Beginning {
    // Several links announce one change of a maker; a known change is one of one property.
    if !event.maker.isKnown, let index = pending.firstIndex(where: { $0.maker == event.maker }) {
      if !link.hasEnded { pending[index].begin(link) }
      return .known
    }
    // Nobody would take back what came after `forget`.
    if link.hasEnded { return .known }
    begun &+= 1
    var change = PendingChange(event.maker, link, toldBefore: toldCount, number: begun)
    // Others may end after the transaction, and are changes of their own then.
    if !deferred.isEmpty, let place = transaction().flatMap(place) {
      // Announced by hand, it may end on another thread, and be told there by itself.
      change.old = deferred[place].report.old
      change.isUnread = deferred[place].report.isUnread
      pending.append(change)
      return .known
    }
    pending.append(change)
    return event.edit != nil && isSettled(for: thread()) ? .newToAll : .new
  }

  /// Whether observers have been told of all changes but the one that `thread` has begun.
  private func isSettled(for thread: UInt) -> Bool {
    pending.count == 1 && waiting.isEmpty && onTheWay == 0 && deferred.isEmpty && !isBehind
      && (teller == 0 || teller == thread)
  }

  /// Takes back what links that have ended have announced: the ends of those changes are not heard.
  ///
  /// - Returns: The changes of which no announcement is left, to be released.
  mutating func forget(_ links: Set<ObjectIdentifier>) -> [PendingChange] {
    for index in pending.indices { pending[index].forget(links) }
    let forgotten = pending.filter(\.isOver)
    if !forgotten.isEmpty { pending.removeAll(where: \.isOver) }
    return forgotten
  }

  /// Keeps what was found when a change began.
  ///
  /// - Parameters:
  ///   - old: The box of the old value, if one is wanted.
  ///   - edit: What the change is, if no other one has begun meanwhile.
  mutating func keep(
    _ old: AnyObject?, _ edit: AnnouncedEdit?, of maker: ObservedProperty.Maker,
    on thread: @autoclosure () -> UInt
  ) {
    guard let index = pending.firstIndex(where: { $0.maker == maker }) else { return }
    pending[index].old = old
    pending[index].isUnread = false
    if known == nil {
      known = old
      isKnownTold = false
    }
    if edit != nil && isSettled(for: thread()) { pending[index].edit = edit }
  }

  /// Notes that a change ends.
  ///
  /// - Returns: What is to be told, or `nil` if another property's change goes on around it.
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
      // It began before the property was followed, or nobody needed to hear its beginning.
      let isUnheard = !skipsBeginnings || link.isUnheard(event.openCount)
      if !isUnheard { report.old = event.old }
      report.firstBegan = isUnheard ? link.began : .max
      report.lastBegan = report.firstBegan
      if event.values != nil { report.edit = event.edit }
      return report
    }
    guard pending[index].end(link), pending[index].isOver else { return nil }
    // Nearly always there is one.
    let ended = index == pending.count - 1 ? pending.removeLast() : pending.remove(at: index)
    report.old = ended.old
    report.edit = event.values == nil ? ended.edit : event.edit
    report.toldBefore = ended.toldBefore
    report.firstBegan = ended.number
    report.lastBegan = ended.number
    report.isUnread = ended.isUnread
    return report
  }

  // MARK: Transactions

  /// Keeps a report for a transaction; what it has no place for goes with the caller's.
  ///
  /// - Parameter thread: The calling thread, which is that of the transaction.
  /// - Returns: Whether it is the first one.
  mutating func keepBack(
    _ report: ChangeReport, for transaction: ObjectIdentifier, on thread: UInt
  ) -> Bool {
    onTheWay -= 1
    if let place = place(of: transaction) {
      deferred[place].report.add(report)
      return false
    }
    deferred.append(Deferred(transaction: transaction, thread: thread, report: report))
    return true
  }

  /// What has been kept back for a transaction, to be told.
  mutating func takeDeferred(for transaction: ObjectIdentifier) -> ChangeReport? {
    guard let place = place(of: transaction) else { return nil }
    onTheWay += 1
    return deferred.remove(at: place).report
  }

  private func place(of transaction: ObjectIdentifier) -> Int? {
    deferred.firstIndex { $0.transaction == transaction }
  }

  // MARK: Telling

  /// Takes the telling for `thread`, before there is anybody else.
  mutating func reserve(for thread: UInt) {
    teller = thread
    depth = 1
  }

  /// Takes in that a report is not told: another change goes on around it.
  mutating func drop() { onTheWay -= 1 }

  /// Does what `end` and `beginTelling` do.
  mutating func endAndTell(
    _ event: ObservedProperty.Event, over link: Link, on thread: UInt
  ) -> ChangeReport? {
    guard let report = report(of: event, over: link) else { return nil }
    return tell(report, on: thread)
  }

  /// Returns what `thread` is to tell, or leaves it to the one that tells.
  mutating func beginTelling(_ report: consuming ChangeReport, on thread: UInt) -> ChangeReport? {
    onTheWay -= 1
    return tell(report, on: thread)
  }

  private mutating func tell(_ report: consuming ChangeReport, on thread: UInt) -> ChangeReport? {
    while !deferred.isEmpty, let place = deferred.lastIndex(where: { $0.thread == thread }) {
      // Kept back by a transaction of this thread that is telling others now: told with this one.
      var earlier = deferred.remove(at: place).report
      earlier.add(report)
      report = earlier
    }
    // What waits carries values of its own, and must not be overtaken by a later one.
    if teller != 0 && (teller != thread || report.values != nil || tellsValues) {
      waiting.append(report)
      return nil
    }
    teller = thread
    depth += 1
    giveOut(&report)
    return report
  }

  /// What the thread that tells is to tell next, if it is not inside its own telling.
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

  /// Makes a report a setting if others have been told since its change began, and says what observers
  /// know.
  private mutating func giveOut(_ report: inout ChangeReport) {
    tellsValues = report.values != nil
    if !tellsValues && report.toldBefore != toldCount { report.dropEdit() }
    if let known, isKnownTold || !report.isUnread { report.known = known }
    toldCount &+= 1
  }

  /// Keeps what is about to be told for the changes that go on.
  ///
  /// - Parameter told: The box of the value; after it, what was known before, to be released.
  mutating func keepTold(_ told: inout AnyObject?) {
    swap(&known, &told)
    isKnownTold = true
  }

  /// Lets go of what observers know, once no change can ask for it; it is to be released.
  mutating func forgetKnown() -> AnyObject? { isBusy ? nil : known.take() }

  /// Whether the beginning of any change has been noted that has not ended.
  var isInChange: Bool { !pending.isEmpty }

  /// Whether any change has begun and not been told.
  var isBusy: Bool {
    !pending.isEmpty || !waiting.isEmpty || depth > 0 || onTheWay > 0 || !deferred.isEmpty
  }
}
