import Foundation
import TestSupport
import Testing

/// One thing to do with a center, and what is heard.
struct Scenario: Sendable, CustomTestStringConvertible {
  let id: String
  /// What ours must do.
  let expected: [String]
  let run: @Sendable (_ make: @Sendable () -> any CenterInterface, _ log: Recorder<String>) -> Void

  init(
    _ id: String, _ expected: [String],
    _ run:
      @escaping @Sendable (
        _ make: @Sendable () -> any CenterInterface, _ log: Recorder<String>
      ) -> Void
  ) {
    self.id = id
    self.expected = expected
    self.run = run
  }

  var testDescription: String { id }

  /// What is heard with centers that `make` makes.
  func heard(_ make: @Sendable () -> any CenterInterface) -> [String] {
    let log = Recorder<String>()
    run(make, log)
    return log.values
  }
}

/// Where Foundation on Linux does something else, and the row of the seeds that says so.
struct ExpectedDifference {
  let scenario: String
  let row: String

  init(_ scenario: String, _ row: String) {
    self.scenario = scenario
    self.row = row
  }
}
