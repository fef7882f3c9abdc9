/// The patterns that a member asks for, for itself or as one of a group.
struct Patterns {
  private var entries: [MemberFrame.Interest: Entry] = [:]

  private struct Entry {
    var pattern: SubjectPattern
    /// Where the member was when it asked.
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

  /// Adds a pattern, and returns whether it is new.
  mutating func add(
    _ pattern: SubjectPattern, group: String = "", at position: Position
  ) -> Bool {
    let key = MemberFrame.Interest(pattern: pattern.text, group: group)
    if entries[key] != nil { return false }
    entries[key] = Entry(pattern: pattern, since: position)
    return true
  }

  /// Removes a pattern, and returns whether it was there.
  mutating func remove(_ pattern: String, group: String = "") -> Bool {
    entries.removeValue(forKey: MemberFrame.Interest(pattern: pattern, group: group)) != nil
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
