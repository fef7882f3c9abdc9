import Campanile

/// What an observation knows of changes: which have begun, which are to be told, who tells.
///
/// It decides; what it returns is to be done, under no lock.
///
/// Values are boxed here, so that none of this depends on their type: generic code that is compiled
/// for no type in particular is several times slower.
struct ChangeKeeper {
  /// A change that has been made and is to be told.
  struct Report {
    /// The box of the value before it, if that is wanted.
    var old: AnyObject?
    private var rare: Rare?
    var changed: ChangedPaths

    /// What few reports have, in a place of its own: reports are copied often, and short.
    private final class Rare {
      let edit: CollectionEdit?
      let toldBefore: UInt
      let known: AnyObject?

      init(_ edit: CollectionEdit?, _ toldBefore: UInt, _ known: AnyObject?) {
        self.edit = edit
        self.toldBefore = toldBefore
        self.known = known
      }
    }

    init(edit: CollectionEdit?, changed: ChangedPaths) {
      if let edit { rare = Rare(edit, 0, nil) }
      self.changed = changed
    }

    var edit: CollectionEdit? { rare?.edit }
    /// How many reports had been given out when the change began.
    var toldBefore: UInt { rare?.toldBefore ?? 0 }
    /// The box of the value that the observer knows, if that is another one than `old`.
    var known: AnyObject? { rare?.known }

    mutating func setKnown(_ known: AnyObject?, toldBefore: UInt) {
      rare = Rare(edit, toldBefore, known)
    }

    mutating func add(_ later: Report) {
      if old == nil { old = later.old }
      if edit != nil { rare = Rare(nil, toldBefore, known) }
      changed.add(later.changed)
    }
  }

  /// A change that has begun and not ended.
  struct Pending {
    fileprivate let maker: ObservedProperty.Maker
    /// The link that announced it first, and how often it has.
    private let first: ObjectIdentifier
    private var depth = 1
    /// The others that have announced it since.
    private var others: [ObjectIdentifier]?
    /// How many reports had been given out when it began.
    fileprivate let toldBefore: UInt
    fileprivate var old: AnyObject?

    fileprivate init(_ maker: ObservedProperty.Maker, _ link: Link, toldBefore: UInt) {
      self.maker = maker
      first = ObjectIdentifier(link)
      self.toldBefore = toldBefore
    }

    fileprivate var isOver: Bool { depth == 0 && others?.isEmpty != false }

    /// Takes in that it is announced once more.
    fileprivate mutating func begin(_ link: Link) {
      let id = ObjectIdentifier(link)
      if first == id { depth += 1 } else { others = (others ?? []) + [id] }
    }

    /// Takes one announcement back.
    ///
    /// - Returns: whether there was one.
    fileprivate mutating func end(_ link: Link) -> Bool {
      let id = ObjectIdentifier(link)
      if first == id && depth > 0 {
        depth -= 1
        return true
      }
      guard let place = others?.lastIndex(of: id) else { return false }
      others?.remove(at: place)
      return true
    }

    /// Takes back what links have announced.
    fileprivate mutating func forget(_ links: Set<ObjectIdentifier>) {
      if links.contains(first) { depth = 0 }
      others?.removeAll { links.contains($0) }
    }
  }

  /// Whether the values that are told are compared.
  private let isDistinct: Bool
  private var pending: [Pending] = []
  /// Whether the observer has been told a value, which it must not be left with if that is out of
  /// date.
  private var hasTold = false
  /// What a transaction has kept back.
  private var deferred: Report?
  /// The thread that reads and tells, or 0, and how often it is inside.
  private var teller: UInt = 0
  private var depth = 0
  /// What other threads have left for it.
  private var waiting: [Report] = []
  /// How many reports have been given out to be told.
  private var toldCount: UInt = 0
  /// The box of the value that was told last, for changes that had begun by then.
  var told: AnyObject?

  init(isDistinct: Bool) { self.isDistinct = isDistinct }

  // MARK: Changes of the properties

  /// Notes that a change begins.
  ///
  /// - Returns: whether the old value is to be read, if one is wanted: in a transaction the first
  ///   change has done so.
  mutating func begin(_ maker: ObservedProperty.Maker, _ link: Link) -> Bool {
    if let index = pending.firstIndex(where: { $0.maker == maker }) {
      if !link.hasEnded { pending[index].begin(link) }
      return false
    }
    // Nobody would take back what came after `forget`.
    if link.hasEnded { return false }
    pending.append(Pending(maker, link, toldBefore: toldCount))
    return deferred == nil
  }

  /// Takes back what links that have ended have announced: the ends of those changes are not heard.
  ///
  /// - Returns: the changes of which no announcement is left, to be released.
  mutating func forget(_ links: Set<ObjectIdentifier>) -> [Pending] {
    for index in pending.indices { pending[index].forget(links) }
    let forgotten = pending.filter(\.isOver)
    if !forgotten.isEmpty { pending.removeAll(where: \.isOver) }
    return forgotten
  }

  mutating func keepOld(_ old: AnyObject, of maker: ObservedProperty.Maker) {
    guard let index = pending.firstIndex(where: { $0.maker == maker }) else { return }
    pending[index].old = old
  }

  /// Notes that a change ends.
  ///
  /// - Returns: what is to be told, or `nil` if another property's change goes on around it, or if
  ///   it began before this observation did, and the observer knows no value that would be out of
  ///   date.
  mutating func end(_ event: ObservedProperty.Event, over link: Link) -> Report? {
    guard let index = pending.firstIndex(where: { $0.maker == event.maker }) else {
      // It began before the property was followed, and the value may have been read in between.
      if !hasTold || link.hasEnded { return nil }
      return Report(edit: event.edit, changed: ChangedPaths(link.property.path))
    }
    guard pending[index].end(link), pending[index].isOver else { return nil }
    var report = Report(edit: event.edit, changed: ChangedPaths(link.property.path))
    if isDistinct {
      report.setKnown(oldOfChange(around: index), toldBefore: pending[index].toldBefore)
    }
    // Nearly always there is one.
    let ended = index == pending.count - 1 ? pending.removeLast() : pending.remove(at: index)
    report.old = ended.old
    return report
  }

  /// The box of the value before the changes that go on around one, if nothing has been told since.
  private func oldOfChange(around index: Int) -> AnyObject? {
    pending[..<index].first { $0.toldBefore == pending[index].toldBefore }?.old
  }

  // MARK: Transactions

  /// Keeps a report for a transaction.
  ///
  /// - Returns: whether it is the first one.
  mutating func keepBack(_ report: Report) -> Bool {
    if deferred != nil {
      deferred?.add(report)
      return false
    }
    deferred = report
    return true
  }

  mutating func takeDeferred() -> Report? { deferred.take() }

  // MARK: Telling

  /// Takes the telling for `thread`, before there is anybody else.
  ///
  /// - Parameter isInitial: Whether the observer is told the value that there is.
  mutating func reserve(for thread: UInt, isInitial: Bool) {
    teller = thread
    depth = 1
    hasTold = isInitial
  }

  /// Does what `end` and `beginTelling` do.
  mutating func endAndTell(
    _ event: ObservedProperty.Event, over link: Link, on thread: UInt
  ) -> Report? {
    guard let report = end(event, over: link) else { return nil }
    return beginTelling(report, on: thread)
  }

  /// Returns what `thread` is to tell, or leaves it to the one that tells.
  mutating func beginTelling(_ report: consuming Report, on thread: UInt) -> Report? {
    if deferred != nil, var deferred = deferred.take() {
      // Kept back by a transaction that is telling others now: told with this one.
      deferred.add(report)
      report = deferred
    }
    hasTold = true
    if teller != 0 && teller != thread {
      waiting.append(report)
      return nil
    }
    teller = thread
    depth += 1
    if isDistinct { giveOut(&report) }
    return report
  }

  /// What the thread that tells is to tell next, if it is not inside its own telling.
  mutating func nextReport() -> Report? {
    if depth == 1 && !waiting.isEmpty {
      var report = waiting.removeFirst()
      if isDistinct { giveOut(&report) }
      return report
    }
    depth -= 1
    if depth == 0 { teller = 0 }
    return nil
  }

  /// Says what the observer knows when a report is told, if its values are compared.
  private mutating func giveOut(_ report: inout Report) {
    if let told { report.setKnown(told, toldBefore: report.toldBefore) }
    toldCount &+= 1
  }

  /// Whether other changes than the one that is being told have begun.
  var isOverlapped: Bool { !pending.isEmpty || !waiting.isEmpty || depth > 1 }

  /// Whether any change has begun and not been told.
  var isBusy: Bool { isOverlapped || teller != 0 }
}
