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
    if case .edits(let removals, let insertions, let moves) = change.kind {
      editCount += 1
      edit(removals, insertions, moves, as: change)
      if elements != change.new { faults.append("\(change.kind) makes \(elements)") }
    }
    if let indexes = change.indexes, change.edit != .setting {
      editCount += 1
      guard check(indexes, in: change) else { return }
      edit(indexes, as: change)
      if elements != change.new {
        faults.append("\(change.edit) \(indexes.ranges) makes \(elements), not \(change.new)")
      }
    }
    elements = change.new
  }

  /// Adds something that went wrong.
  mutating func note(_ fault: String) { faults.append(fault) }

  private mutating func edit(_ indexes: RangeSet<Int>, as change: KVOChange<[Element]>) {
    switch change.edit {
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

  private mutating func edit(
    _ removals: RangeSet<Int>, _ insertions: RangeSet<Int>, _ moves: [KVOMove],
    as change: KVOChange<[Element]>
  ) {
    if let old = change.old, old != elements { faults.append("\(old) was \(elements)") }
    var moved: [Int: Int] = [:]
    for move in moves { moved[move.to] = move.from }
    let leaving = Set(removals.ranges.flatMap { $0 }).union(moves.map(\.from))
    var staying = elements.indices.filter { !leaving.contains($0) }.makeIterator()
    let count = elements.count - leaving.count + insertions.ranges.map(\.count).reduce(0, +)
    var places: [Element] = []
    for index in 0..<count + moves.count {
      if insertions.contains(index) {
        places.append(change.new[index])
      } else if let source = moved[index] ?? staying.next() {
        places.append(elements[source])
      }
    }
    elements = places
  }

  /// Whether indexes are inside of the values that they are indexes of.
  private mutating func check(_ indexes: RangeSet<Int>, in change: KVOChange<[Element]>) -> Bool {
    let end = indexes.ranges.last?.upperBound ?? 0
    let count = change.edit == .removal ? change.old?.count ?? end : change.new.count
    if end > count { faults.append("\(change.edit) to \(end) of \(count)") }
    if let old = change.old, old != elements { faults.append("\(old) was \(elements)") }
    return end <= count
  }

  /// What is about to be removed or replaced is there; what is inserted has its place there.
  private mutating func checkPrior(_ change: KVOChange<[Element]>) {
    guard let indexes = change.indexes, let last = indexes.ranges.last else { return }
    let start = change.edit == .insertion ? indexes.ranges[0].lowerBound : last.upperBound
    if start > change.new.count { faults.append("prior \(change.edit) of \(change.new)") }
  }
}
