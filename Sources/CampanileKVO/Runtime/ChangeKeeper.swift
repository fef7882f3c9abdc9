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
    /// The box of the values before and after, if the class handed them over.
    fileprivate(set) var values: AnyObject?

    /// What few reports have, in a place of its own: reports are copied often, and short.
    private final class Rare {
      let edit: AnnouncedEdit?
      let toldBefore: UInt
      let known: AnyObject?
      let isUnread: Bool
      /// What this takes the place of, which goes with the report: here it is under a lock.
      private let replaced: Rare?
      private let dropped: Report?

      init(
        _ edit: AnnouncedEdit? = nil, toldBefore: UInt = 0, known: AnyObject?, isUnread: Bool,
        insteadOf replaced: Rare?, dropping dropped: Report? = nil
      ) {
        self.edit = edit
        self.toldBefore = toldBefore
        self.known = known
        self.isUnread = isUnread
        self.replaced = replaced
        self.dropped = dropped
      }
    }

    init(edit: AnnouncedEdit? = nil, changed: ChangedPaths) {
      if let edit { rare = Rare(edit, known: nil, isUnread: false, insteadOf: nil) }
      self.changed = changed
    }

    /// The edit of a collection that it is told as, if nothing comes between.
    var edit: AnnouncedEdit? { rare?.edit }
    /// The box of the value that the observer knows.
    ///
    /// `nil` if nobody can say, so that there is nothing to compare with.
    var known: AnyObject? { rare?.known ?? (isUnread ? nil : old) }
    /// Whether it has a change in it before which the value could not be read.
    fileprivate var isUnread: Bool { rare?.isUnread ?? false }

    fileprivate mutating func setEdit(_ edit: AnnouncedEdit, toldBefore: UInt) {
      rare = Rare(
        edit, toldBefore: toldBefore, known: rare?.known, isUnread: isUnread, insteadOf: rare)
    }

    fileprivate mutating func setKnown(_ known: AnyObject) {
      // Nearly always it is that.
      if known === old && !isUnread { return }
      rare = Rare(
        edit, toldBefore: rare?.toldBefore ?? 0, known: known, isUnread: isUnread,
        insteadOf: rare)
    }

    fileprivate mutating func setUnread() {
      if isUnread { return }
      rare = Rare(
        edit, toldBefore: rare?.toldBefore ?? 0, known: rare?.known, isUnread: true, insteadOf: rare
      )
    }

    /// Makes it a report of a setting.
    mutating func dropEdit() {
      if edit != nil { rare = Rare(known: rare?.known, isUnread: isUnread, insteadOf: rare) }
    }

    /// Makes it a report of a setting if others have been told since the change began.
    fileprivate mutating func dropEdit(unlessTold count: UInt) {
      if let rare, rare.toldBefore != count { dropEdit() }
    }

    mutating func add(_ later: Report) {
      if old == nil { old = later.old }
      if values != nil {
        keep(self)
        values = nil
      }
      dropEdit()
      if later.isUnread { setUnread() }
      changed.add(later.changed)
    }

    /// Lets go of a report when it goes itself.
    fileprivate mutating func keep(_ other: Report) {
      if other.old == nil && other.rare == nil && other.values == nil { return }
      rare = Rare(
        edit, toldBefore: rare?.toldBefore ?? 0, known: rare?.known, isUnread: isUnread,
        insteadOf: rare, dropping: other)
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
    fileprivate var edit: AnnouncedEdit?
    /// Whether the old value is wanted, and has not been read.
    fileprivate var isUnread: Bool

    fileprivate init(
      _ maker: ObservedProperty.Maker, _ link: Link, toldBefore: UInt, isUnread: Bool
    ) {
      self.maker = maker
      first = ObjectIdentifier(link)
      self.toldBefore = toldBefore
      self.isUnread = isUnread
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
  /// Whether there may be changes whose beginning was not heard, and which the observer does not know.
  var isBehind = false
  /// How many reports have been made that are neither kept back nor being told.
  private var onTheWay = 0
  /// What a transaction has kept back, and its thread, which is to tell it.
  private struct Deferred {
    let transaction: ObjectIdentifier
    let thread: UInt
    var report: Report
  }

  /// What transactions have kept back, oldest first: seldom are there two.
  private var deferred: [Deferred] = []
  /// The thread that reads and tells, or 0, and how often it is inside.
  private var teller: UInt = 0
  private var depth = 0
  /// What other threads have left for it.
  private var waiting = Fifo<Report>()
  /// How many reports have been given out to be told.
  private var toldCount: UInt = 0
  /// The box of the value that the observer knows while changes go on, of values that are compared.
  ///
  /// Before any of them is told it is the old value of the first one that has read it: the others may
  /// have found what that one sets.
  private var known: AnyObject?
  /// Whether that value has been told.
  ///
  /// Else it is not the observer's if there are changes, not told yet, before which it could not be
  /// read.
  private var isKnownTold = false

  init(isDistinct: Bool) { self.isDistinct = isDistinct }

  // MARK: Changes of the properties

  /// What is to be done when a change begins.
  enum Beginning {
    /// Nothing: in a transaction the first change has done it, and so has the change around another.
    case known
    /// The old value is to be read, if one is wanted.
    case new
    /// The same, and the observer knows the old value.
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
    // Others may end after the transaction, and are changes of their own then.
    if !deferred.isEmpty, let place = transaction().flatMap(place) {
      let kept = deferred[place].report
      var begun = Pending(
        event.maker, link, toldBefore: toldCount, isUnread: isDistinct && kept.isUnread)
      // Announced by hand, it may end on another thread, and be told there by itself.
      begun.old = kept.old
      pending.append(begun)
      return .known
    }
    pending.append(Pending(event.maker, link, toldBefore: toldCount, isUnread: isDistinct))
    return event.edit != nil && isSettled(for: thread()) ? .newToAll : .new
  }

  /// Whether the observer has been told of all changes but the one that `thread` has begun.
  private func isSettled(for thread: UInt) -> Bool {
    pending.count == 1 && waiting.isEmpty && onTheWay == 0 && deferred.isEmpty && !isBehind
      && (teller == 0 || teller == thread)
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
    if isDistinct && known == nil {
      known = old
      isKnownTold = false
    }
    if edit != nil && isSettled(for: thread()) { pending[index].edit = edit }
  }

  /// Notes that a change ends.
  ///
  /// - Returns: what is to be told, or `nil` if another property's change goes on around it, or if
  ///   it began before this observation did, and the observer knows no value that would be out of
  ///   date.
  mutating func end(_ event: ObservedProperty.Event, over link: Link) -> Report? {
    let report = report(of: event, over: link)
    if report != nil { onTheWay += 1 }
    return report
  }

  private mutating func report(of event: ObservedProperty.Event, over link: Link) -> Report? {
    guard let index = pending.firstIndex(where: { $0.maker == event.maker }) else {
      // It began before the property was followed, and the value may have been read in between.
      if link.hasEnded { return nil }
      if let values = event.values {
        var report = Report(edit: event.edit, changed: ChangedPaths(link.property.path))
        report.values = values
        return report
      }
      guard hasTold else {
        isBehind = true
        return nil
      }
      var report = Report(changed: ChangedPaths(link.property.path))
      if isDistinct { report.setUnread() }
      return report
    }
    guard pending[index].end(link), pending[index].isOver else { return nil }
    var report = Report(changed: ChangedPaths(link.property.path))
    // Nearly always there is one.
    let ended = index == pending.count - 1 ? pending.removeLast() : pending.remove(at: index)
    report.old = ended.old
    report.values = event.values
    if ended.isUnread { report.setUnread() }
    if let edit = event.values == nil ? ended.edit : event.edit {
      report.setEdit(edit, toldBefore: ended.toldBefore)
    }
    return report
  }

  // MARK: Transactions

  /// Keeps a report for a transaction; what it has no place for goes with the caller's.
  ///
  /// - Parameter thread: The calling thread, which is that of the transaction.
  /// - Returns: whether it is the first one.
  mutating func keepBack(
    _ report: Report, for transaction: ObjectIdentifier, on thread: UInt
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
  mutating func takeDeferred(for transaction: ObjectIdentifier) -> Report? {
    guard let place = place(of: transaction) else { return nil }
    onTheWay += 1
    return deferred.remove(at: place).report
  }

  private func place(of transaction: ObjectIdentifier) -> Int? {
    deferred.firstIndex { $0.transaction == transaction }
  }

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
    guard let report = report(of: event, over: link) else { return nil }
    return tell(report, on: thread)
  }

  /// Returns what `thread` is to tell, or leaves it to the one that tells.
  mutating func beginTelling(_ report: consuming Report, on thread: UInt) -> Report? {
    onTheWay -= 1
    return tell(report, on: thread)
  }

  private mutating func tell(_ report: consuming Report, on thread: UInt) -> Report? {
    while !deferred.isEmpty, let place = deferred.lastIndex(where: { $0.thread == thread }) {
      // Kept back by a transaction of this thread that is telling others now: told with this one.
      var earlier = deferred.remove(at: place).report
      earlier.add(report)
      // What it has no place for is not to be released here.
      earlier.keep(report)
      report = earlier
    }
    hasTold = true
    // What waits carries values of its own, and must not be overtaken by a later one.
    if teller != 0 && (teller != thread || report.values != nil) {
      waiting.append(report)
      return nil
    }
    teller = thread
    depth += 1
    giveOut(&report)
    return report
  }

  /// What the thread that tells is to tell next, if it is not inside its own telling.
  mutating func nextReport() -> Report? {
    if depth == 1, !waiting.isEmpty, var report = waiting.popFirst() {
      giveOut(&report)
      return report
    }
    depth -= 1
    if depth == 0 { teller = 0 }
    return nil
  }

  /// Says what the observer knows when a report is told: of values that are compared, and whether it
  /// is what it was when an edit began.
  private mutating func giveOut(_ report: inout Report) {
    if report.values == nil { report.dropEdit(unlessTold: toldCount) }
    if let known, isKnownTold || !report.isUnread { report.setKnown(known) }
    toldCount &+= 1
  }

  /// Keeps what is about to be told for the changes that go on: what the observer knows then is no
  /// more what they found.
  ///
  /// - Parameter told: The box of the value, if it has been made; after it, what was known before, to
  ///   be released.
  /// - Returns: whether it is kept, or not needed; else it is to be made.
  mutating func keepTold(_ told: inout AnyObject?) -> Bool {
    if told == nil && isOverlapped { return false }
    swap(&known, &told)
    isKnownTold = true
    return true
  }

  /// Lets go of what the observer knows, once no change can ask for it; it is to be released.
  mutating func forgetKnown() -> AnyObject? { isBusy ? nil : known.take() }

  /// Whether other changes than the one that is being told have begun, and not been told.
  private var isOverlapped: Bool {
    !pending.isEmpty || !waiting.isEmpty || depth > 1 || onTheWay > 0
      || !deferred.isEmpty
  }

  /// Whether any change has begun and not been told.
  var isBusy: Bool { isOverlapped || teller != 0 }
}
