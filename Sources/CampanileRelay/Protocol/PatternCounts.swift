/// How often each pattern is asked for.
struct PatternCounts {
  private var entries: [String: Entry] = [:]

  private struct Entry {
    var pattern: SubjectPattern
    var count: Int
    /// Where the member was when it asked first.
    var since: Position
  }

  /// The patterns that are asked for, sorted: those that fit into the first frame of a member, and
  /// the others.
  var inHello: (first: ArraySlice<String>, rest: ArraySlice<String>) {
    let patterns = entries.keys.sorted()
    var bytes = 0
    let end = patterns.firstIndex { pattern in
      bytes += 4 + pattern.utf8.count
      return bytes > frameLimit / 4
    }
    let place = end ?? patterns.endIndex
    return (patterns[..<place], patterns[place...])
  }

  /// Counts a pattern, and returns whether it is new.
  mutating func add(_ pattern: SubjectPattern, at position: Position) -> Bool {
    entries[pattern.text, default: Entry(pattern: pattern, count: 0, since: position)].count += 1
    return entries[pattern.text]?.count == 1
  }

  /// Takes back one count of a pattern, and returns whether it was the last one.
  mutating func remove(_ pattern: String) -> Bool {
    guard let count = entries[pattern]?.count else { return false }
    if count > 1 { entries[pattern]?.count = count - 1 } else { entries[pattern] = nil }
    return count == 1
  }

  /// Begins for a new member, which gets the messages after a position.
  mutating func begin(at position: Position) {
    for pattern in entries.keys { entries[pattern]?.since = position }
  }

  /// Whether the message of a position was asked for.
  func contains(_ subject: String, at position: Position) -> Bool {
    entries.values.contains { $0.since < position && $0.pattern.matches(subject) }
  }
}
