import Campanile

/// A change that has begun and not ended.
struct PendingChange {
  let maker: ObservedProperty.Maker
  /// The link that announced it first, and how often it has.
  private let first: ObjectIdentifier
  private var depth = 1
  /// The others that have announced it since.
  private var others: [ObjectIdentifier]?
  /// How many reports had been given out when it began.
  let toldBefore: UInt
  /// Which change of the evaluation it is.
  let number: UInt
  var old: AnyObject?
  var edit: AnnouncedEdit?
  /// Whether the old value has not been read.
  var isUnread = true

  init(
    _ maker: ObservedProperty.Maker, _ link: Link, toldBefore: UInt, number: UInt
  ) {
    self.maker = maker
    first = ObjectIdentifier(link)
    self.toldBefore = toldBefore
    self.number = number
  }

  var isOver: Bool { depth == 0 && others?.isEmpty != false }

  /// Takes in that it is announced once more.
  mutating func begin(_ link: Link) {
    let id = ObjectIdentifier(link)
    if first == id { depth += 1 } else { others = (others ?? []) + [id] }
  }

  /// Takes one announcement back.
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

  /// Takes back what links have announced.
  mutating func forget(_ links: Set<ObjectIdentifier>) {
    if links.contains(first) { depth = 0 }
    others?.removeAll { links.contains($0) }
  }
}

/// A change that has been made and is to be told.
struct ChangeReport {
  /// The box of the value before it, if that is wanted.
  var old: AnyObject?
  /// The edit of a collection that it is told as, if nothing comes between.
  var edit: AnnouncedEdit?
  /// How many reports had been given out when it began.
  var toldBefore: UInt = 0
  /// Which changes of the evaluation it is made of, the first and the last.
  var firstBegan: UInt = 0
  var lastBegan: UInt = 0
  /// Whether it has a change in it before which the value could not be read.
  var isUnread = true
  /// The box of the value that observers know, of values that are compared.
  ///
  /// `nil` if nobody can say, so that there is nothing to compare with.
  var known: AnyObject?
  var changed: ChangedPaths
  /// The box of the values before and after, if the class handed them over.
  var values: AnyObject?
  /// What this takes the place of, which goes with the report: here it is under a lock.
  private var replaced: [AnyObject]?

  init(edit: AnnouncedEdit? = nil, changed: ChangedPaths) {
    self.edit = edit
    self.changed = changed
  }

  /// Makes it a report of a setting.
  mutating func dropEdit() {
    if let edit { replace(edit) }
    edit = nil
  }

  mutating func add(_ later: ChangeReport) {
    if old == nil {
      // The value that is told as the old one is that before the later change.
      if later.old != nil { firstBegan = max(firstBegan, later.firstBegan) }
      old = later.old
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
    changed.add(later.changed)
  }

  private mutating func replace(_ object: AnyObject?) {
    if let object { replaced = (replaced ?? []) + [object] }
  }
}
