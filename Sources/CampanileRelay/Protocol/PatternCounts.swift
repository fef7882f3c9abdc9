/// How often each pattern is asked for, by a group or for the member itself.
struct PatternCounts {
  private var entries: [MemberFrame.Interest: Entry] = [:]

  private struct Entry {
    var pattern: SubjectPattern
    var count: Int
    /// Where the member was when it asked first.
    var since: Position
  }

  /// The patterns that are asked for, sorted: those that fit into the first frame of a member, and
  /// the others.
  var inHello: (first: ArraySlice<MemberFrame.Interest>, rest: ArraySlice<MemberFrame.Interest>) {
    let patterns = entries.keys.sorted()
    var bytes = 0
    let end = patterns.firstIndex { interest in
      bytes += 8 + interest.pattern.utf8.count + interest.group.utf8.count
      return bytes > frameLimit / 4
    }
    let place = end ?? patterns.endIndex
    return (patterns[..<place], patterns[place...])
  }

  /// Forgets the patterns of groups, and returns them.
  mutating func removeShared() -> [MemberFrame.Interest] {
    let shared = entries.keys.filter { !$0.group.isEmpty }.sorted()
    for interest in shared { entries[interest] = nil }
    return shared
  }

  /// Counts a pattern, and returns whether it is new.
  mutating func add(
    _ pattern: SubjectPattern, group: String = "", at position: Position
  ) -> Bool {
    let key = MemberFrame.Interest(pattern: pattern.text, group: group)
    entries[key, default: Entry(pattern: pattern, count: 0, since: position)].count += 1
    return entries[key]?.count == 1
  }

  /// Takes back one count of a pattern, and returns whether it was the last one.
  mutating func remove(_ pattern: String, group: String = "") -> Bool {
    let key = MemberFrame.Interest(pattern: pattern, group: group)
    guard let count = entries[key]?.count else { return false }
    if count > 1 { entries[key]?.count = count - 1 } else { entries[key] = nil }
    return count == 1
  }

  /// Begins for a new member, which gets the messages after a position.
  mutating func begin(at position: Position) {
    for pattern in entries.keys { entries[pattern]?.since = position }
  }

  /// Whether the message of a position was asked for.
  func contains(_ subject: String, at position: Position) -> Bool {
    entries.contains {
      $0.key.group.isEmpty && $0.value.since < position && $0.value.pattern.matches(subject)
    }
  }
}
