import Foundation
import Testing

/// Foundation's center and queue and ours do the same, but for what is listed.
@Suite("Differences from Foundation's center and notification queue", .ownThread)
struct DifferentialTests {
  static let scenarios =
    Scenario.deliveries + Scenario.senders + Scenario.removals + Scenario.orders
    + Scenario.queues

  /// Each is looked for: one that is no more is a failure.
  static let differences = [
    "observers are called in the order they were added": "A1",
    "those of all names and objects stand among the others": "A1",
    "removals leave the order as it was": "A1",
    "an observer that is removed during a post is not called": "A2",
    "a stale token that is removed again removes nobody else": "A3",
    "a token given to the wrong center removes nobody there": "A4",
    "an observer of an object that has died hears nothing": "A6",
    "an observer of all names and an object that has died hears nothing": "A6",
    "a value that cannot be compared is no object": "A6",
    "a queue that nobody else keeps still delivers": "A7",
    // Foundation compares the boxes of values, whose addresses mean nothing.
    "a string is an object": "A6",
    // Foundation takes it for an object, of which there is one for all that is missing.
    "an optional without an object is no object": "A6",
    // On Apple platforms Foundation's center does the same as ours.
    "an object that is wrapped to be hashed is the object": "A6",
  ]

  static let differencesOfQueues = [
    "asap keeps the order": "A10",
    "idle keeps the order": "A10",
    // Foundation posts what can wait first, knows no identity of Swift objects, and never posts in a
    // mode of one's own.
    "asap comes before idle": "A10",
    "an object of a Swift class coalesces too": "A10",
    "asap waits for its mode": "A10",
    // Nor does it post in the default mode what waits for the common ones.
    "the common modes and the default mode keep one order": "A10",
    "nothing is idle while one for the common modes is due": "A10",
  ]

  private func expect(
    _ expected: [String], _ difference: String?, _ heard: (Side) -> [String]
  ) {
    let (ours, theirs) = (heard(.ours), heard(.foundation))
    #expect(ours == expected)
    #if os(Linux)
      // Foundation's mistakes of A6 need an address that is used again.
      if difference == "A6", !reusesAddresses() { return }
      #expect(
        (theirs == ours) == (difference == nil),
        "\(difference ?? "No row"): Foundation's has \(theirs)")
    #endif
  }

  @Test("A1 A2 A3 A4 A6 A7 one table for both centers", arguments: scenarios)
  func centers(scenario: Scenario) {
    expect(scenario.expected, Self.differences[scenario.id], scenario.heard)
  }

  @Test("A10 one table for both queues", arguments: QueuedScenario.all)
  func queues(scenario: QueuedScenario) {
    expect(scenario.expected, Self.differencesOfQueues[scenario.id], scenario.heard)
  }

  #if canImport(Glibc)
    @Test("A queue ends with its thread", arguments: Side.allCases)
    func ended(side: Side) {
      let live = LiveCount()
      onEndedThreads {
        let face = side.makeQueue(Recorder())
        face.center.add(.tick) { [tracked = Tracked(live)] _ in tracked.touch() }
        face.enqueue(1, .now)
      }
      #expect(live.current == 0)
    }
  #endif

  @Test("Every expected difference is one of a scenario")
  func table() {
    for (ids, differences) in [
      (Self.scenarios.map(\.id), Self.differences),
      (QueuedScenario.all.map(\.id), Self.differencesOfQueues),
    ] {
      #expect(Set(ids).count == ids.count)
      #expect(Set(ids).isSuperset(of: differences.keys))
    }
  }
}
