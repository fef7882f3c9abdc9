/// How often each pattern is asked for.
struct PatternCounts {
  private var counts: [String: Int] = [:]

  /// The patterns that are asked for, sorted.
  var patterns: [String] { counts.keys.sorted() }

  /// Counts a pattern, and returns whether it is new.
  mutating func add(_ pattern: String) -> Bool {
    counts[pattern, default: 0] += 1
    return counts[pattern] == 1
  }

  /// Takes back one count of a pattern, and returns whether it was the last one.
  mutating func remove(_ pattern: String) -> Bool {
    guard let count = counts[pattern] else { return false }
    counts[pattern] = count > 1 ? count - 1 : nil
    return count == 1
  }
}
