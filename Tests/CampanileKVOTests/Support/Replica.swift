import CampanileKVO

/// An array that is rebuilt from what an observer is told: from the edits, by their indexes, and from
/// the values of the settings.
struct Replica<Element: Equatable> {
  private(set) var elements: [Element]
  /// How many changes were told as edits.
  private(set) var editCount = 0
  /// What was told that does not go with the values.
  private(set) var faults: [String] = []

  init(_ elements: [Element] = []) { self.elements = elements }

  mutating func apply(_ change: KVOChange<[Element]>) {
    if change.phase == .prior { return checkPrior(change) }
    if let indexes = change.indexes, change.kind != .setting {
      editCount += 1
      guard check(indexes, in: change) else { return }
      edit(indexes, as: change)
      if elements != change.new {
        faults.append("\(change.kind) \(indexes.ranges) makes \(elements), not \(change.new)")
      }
    }
    elements = change.new
  }

  /// Adds something that went wrong.
  mutating func note(_ fault: String) { faults.append(fault) }

  private mutating func edit(_ indexes: RangeSet<Int>, as change: KVOChange<[Element]>) {
    switch change.kind {
    case .insertion:
      for index in indexes.ranges.flatMap({ $0 }) where index <= elements.count {
        elements.insert(change.new[index], at: index)
      }
    case .removal:
      for index in indexes.ranges.flatMap({ $0 }).reversed() where index < elements.count {
        elements.remove(at: index)
      }
    default:
      for index in indexes.ranges.flatMap({ $0 }) where index < elements.count {
        elements[index] = change.new[index]
      }
    }
  }

  /// Whether indexes are inside of the values that they are indexes of.
  private mutating func check(_ indexes: RangeSet<Int>, in change: KVOChange<[Element]>) -> Bool {
    let end = indexes.ranges.last?.upperBound ?? 0
    let count = change.kind == .removal ? change.old?.count ?? end : change.new.count
    if end > count { faults.append("\(change.kind) to \(end) of \(count)") }
    if let old = change.old, old != elements { faults.append("\(old) was \(elements)") }
    return end <= count
  }

  /// What is about to be removed or replaced is there; what is inserted has its place there.
  private mutating func checkPrior(_ change: KVOChange<[Element]>) {
    guard let indexes = change.indexes, let last = indexes.ranges.last else { return }
    let start = change.kind == .insertion ? indexes.ranges[0].lowerBound : last.upperBound
    if start > change.new.count { faults.append("prior \(change.kind) of \(change.new)") }
  }
}
