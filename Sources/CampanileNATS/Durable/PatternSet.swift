#if NATS
  import CampanileRelay

  /// The patterns of one consumer.
  enum PatternSet {
    /// The filters for a consumer, without those that another one covers.
    ///
    /// A server refuses filters that overlap. If some do, the result is empty, and the consumer sends
    /// all that the stream has.
    static func filters(_ patterns: [String]) -> [String] {
      let all = Set(patterns).sorted().map(tokens)
      let kept = all.filter { pattern in !all.contains { $0 != pattern && covers($0, pattern) } }
      for (index, one) in kept.enumerated() {
        if kept[(index + 1)...].contains(where: { overlaps(one, $0) }) { return [] }
      }
      return kept.map { $0.joined(separator: ".") }
    }

    private static func tokens(_ pattern: String) -> [Substring] { pattern.split(separator: ".") }

    /// Whether each name that fits the second pattern fits the first.
    static func covers(_ one: String, _ two: String) -> Bool { covers(tokens(one), tokens(two)) }

    private static func covers(_ wide: [Substring], _ narrow: [Substring]) -> Bool {
      for (index, token) in wide.enumerated() {
        guard index < narrow.count else { return false }
        if token == ">" { return true }
        if narrow[index] == ">" || token != "*" && token != narrow[index] { return false }
      }
      return wide.count == narrow.count
    }

    /// Whether a name fits both.
    private static func overlaps(_ one: [Substring], _ two: [Substring]) -> Bool {
      for (left, right) in zip(one, two) {
        if left == ">" || right == ">" { return true }
        if left != "*" && right != "*" && left != right { return false }
      }
      return one.count == two.count
    }
  }
#endif
