import Campanile

/// A change that has begun and has not ended.
struct PendingChange {
  let maker: ObservedProperty.Maker
  /// The link that announced the change first, and its open announcements.
  private let first: ObjectIdentifier
  private var depth = 1
  /// The other links that have announced the change since.
  private var others: [ObjectIdentifier]?
  /// The number of reports that had been handed out when the change began.
  let toldBefore: UInt
  /// The number of the change, counted per evaluation.
  let number: UInt
  /// The number of the change whose old value this one has: its own, or that of the transaction.
  var firstBegan: UInt
  var old: AnyObject?
  var edit: AnnouncedEdit?
  /// Whether the old value has not been read.
  var isUnread = true
  /// The transaction in which the change began, after another one, and whose old value it has.
  var transaction: ObjectIdentifier?

  init(
    _ maker: ObservedProperty.Maker, _ link: Link, toldBefore: UInt, number: UInt
  ) {
    self.maker = maker
    first = ObjectIdentifier(link)
    self.toldBefore = toldBefore
    self.number = number
    firstBegan = number
  }

  var isOver: Bool { depth == 0 && others?.isEmpty != false }

  /// Records one more announcement.
  mutating func begin(_ link: Link) {
    let id = ObjectIdentifier(link)
    if first == id { depth += 1 } else { others = (others ?? []) + [id] }
  }

  /// Removes one announcement.
  ///
  /// - Returns: Whether there was one.
  mutating func end(_ link: Link) -> Bool {
    let id = ObjectIdentifier(link)
    if first == id && depth > 0 {
      depth -= 1
      return true
    }
    guard let place = others?.lastIndex(of: id) else { return false }
    others?.remove(at: place)
    return true
  }

  /// Removes all announcements of these links.
  mutating func forget(_ links: Set<ObjectIdentifier>) {
    if links.contains(first) { depth = 0 }
    others?.removeAll { links.contains($0) }
  }
}

/// A change that has been made and has to be delivered.
struct ChangeReport {
  /// The box of the old value, if an observer wants it.
  var old: AnyObject?
  /// The edit that the change is delivered as, unless another change overtakes it.
  var edit: AnnouncedEdit?
  /// The number of reports that had been handed out when the change began.
  var toldBefore: UInt = 0
  /// The numbers of the first and the last change in this report.
  var firstBegan: UInt = 0
  var lastBegan: UInt = 0
  /// Whether the report has a change whose old value could not be read.
  var isUnread = true
  /// The box of the value that observers know, if values are compared.
  ///
  /// `nil` if that value is unknown, so that there is nothing to compare with.
  var known: AnyObject?
  /// The number of the change that has read that value; 0 if it has been delivered.
  var knownBefore: UInt = 0
  var changed: ChangedPaths
  /// The box of the values before and after, if the class provided them.
  var values: AnyObject?
  /// The transactions of the report in which changes began that have not ended, if any.
  var outlasted: [ObjectIdentifier]?
  /// Objects that this report has replaced.
  ///
  /// They are released with the report, because the report is changed under a lock.
  private var replaced: [AnyObject]?

  init(edit: AnnouncedEdit? = nil, changed: ChangedPaths) {
    self.edit = edit
    self.changed = changed
  }

  /// Turns the report into that of a setting.
  mutating func dropEdit() {
    if let edit { replace(edit) }
    edit = nil
  }

  mutating func add(_ later: ChangeReport) {
    if old == nil {
      // The delivered old value is the value before the later change.
      if later.old != nil { firstBegan = max(firstBegan, later.firstBegan) }
      old = later.old
    } else if later.old != nil, firstBegan != .max, later.firstBegan < firstBegan,
      later.toldBefore == toldBefore
    {
      // It ended later, and had begun first. Nothing has been told in between.
      replace(old)
      old = later.old
      firstBegan = later.firstBegan
    } else {
      replace(later.old)
    }
    replace(values)
    replace(later.values)
    replace(later.edit)
    values = nil
    dropEdit()
    if later.isUnread { isUnread = true }
    lastBegan = max(lastBegan, later.lastBegan)
    if let more = later.replaced { replaced = (replaced ?? []) + more }
    if let more = later.outlasted { outlasted = (outlasted ?? []) + more }
    changed.add(later.changed)
  }

  private mutating func replace(_ object: AnyObject?) {
    if let object { replaced = (replaced ?? []) + [object] }
  }
}
