/// When a table looks for what has ended in it, and forgets that.
///
/// It does so when it has twice as many places as were in use after the last time. So an addition costs
/// a constant number of steps, and what has ended stays within a constant factor of what lives.
struct PurgeSchedule: Sendable {
  private let least: Int
  private var threshold: Int

  /// - Parameter least: How many places are taken before anybody looks.
  init(from least: Int) {
    self.least = least
    threshold = least
  }

  /// Whether it is time to look, with so many places taken.
  func isDue(_ count: Int) -> Bool { count >= threshold }

  /// Notes how many places are in use.
  mutating func note(_ count: Int) { threshold = max(least, count * 2) }
}
