/// The patterns that a member asks for, for itself or as one of a group.
struct Patterns {
  private var interests: Set<MemberFrame.Interest> = []

  /// The patterns that are asked for, sorted: those that fit into the first frame of a member, and
  /// the others.
  var inHello: (first: ArraySlice<MemberFrame.Interest>, rest: ArraySlice<MemberFrame.Interest>) {
    let patterns = interests.sorted()
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
    let shared = interests.filter { !$0.group.isEmpty }
    interests.subtract(shared)
    return shared.sorted()
  }

  /// Adds a pattern, and returns whether it is new.
  mutating func add(_ pattern: SubjectPattern, group: String = "") -> Bool {
    interests.insert(MemberFrame.Interest(pattern: pattern.text, group: group)).inserted
  }

  /// Removes a pattern, and returns whether it was there.
  mutating func remove(_ pattern: String, group: String = "") -> Bool {
    interests.remove(MemberFrame.Interest(pattern: pattern, group: group)) != nil
  }
}
