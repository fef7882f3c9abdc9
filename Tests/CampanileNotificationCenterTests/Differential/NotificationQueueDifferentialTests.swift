import Foundation
import Testing

/// Foundation's notification queue and ours do the same, but for what is listed.
@Suite("Differences from Foundation's notification queue", .ownThread)
struct NotificationQueueDifferentialTests {
  static let differences = [
    ExpectedDifference("asap keeps the order", "A10"),
    ExpectedDifference("idle keeps the order", "A10"),
    // Foundation posts what can wait first, knows no identity of Swift objects, and never posts in a
    // mode of one's own.
    ExpectedDifference("asap comes before idle", "A10"),
    ExpectedDifference("an object of a Swift class coalesces too", "A10"),
    ExpectedDifference("asap waits for its mode", "A10"),
    // Nor does it post in the default mode what waits for the common ones.
    ExpectedDifference("the common modes and the default mode keep one order", "A10"),
    ExpectedDifference("nothing is idle while one for the common modes is due", "A10"),
  ]

  @Test("A10 one table for both queues", arguments: QueuedScenario.all)
  func same(scenario: QueuedScenario) {
    let difference = Self.differences.first { $0.scenario == scenario.id }
    let ours = scenario.heard { .ours($0) }
    let theirs = scenario.heard { .foundation($0) }
    #expect(ours == scenario.expected)
    #if os(Linux)
      if let difference {
        #expect(theirs != ours, "\(difference.row): Foundation does the same by now")
      } else {
        #expect(theirs == ours)
      }
    #endif
  }

  @Test("Every expected difference is one of a scenario")
  func table() {
    let ids = Set(QueuedScenario.all.map(\.id))
    #expect(ids.count == QueuedScenario.all.count)
    for difference in Self.differences { #expect(ids.contains(difference.scenario)) }
  }
}
