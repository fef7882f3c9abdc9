import Foundation
import TestSupport
import Testing

/// One thing to do with a center, and what is heard.
struct Scenario: Sendable, CustomTestStringConvertible {
  let id: String
  /// What ours must do.
  let expected: [String]
  let run: @Sendable (Desk) -> Void

  init(_ id: String, _ expected: [String], _ run: @escaping @Sendable (Desk) -> Void) {
    self.id = id
    self.expected = expected
    self.run = run
  }

  var testDescription: String { id }

  func heard(_ side: Side) -> [String] {
    let desk = Desk(make: side.makeCenter, center: side.makeCenter())
    run(desk)
    return desk.log.values
  }
}

/// A center, what its observers record, and an object that lives as long as the scenario.
struct Desk: Sendable {
  let make: @Sendable () -> any CenterInterface
  let center: any CenterInterface
  let log = Recorder<String>()
  let bell = Bell()

  /// Observes, and records `text`, or else the name of what is posted.
  @discardableResult
  func hear(
    _ name: Notification.Name? = .tick, _ object: Any? = nil, queue: OperationQueue? = nil,
    as text: String? = nil
  ) -> any NSObjectProtocol {
    center.add(name, object, queue: queue) { [log] in log.record(text ?? $0.name.rawValue) }
  }

  func post(_ name: Notification.Name = .tick, _ object: Any? = nil) { center.post(name, object) }

  func post(_ number: Int) {
    center.post(name: .tick, object: nil, userInfo: ["number": number])
  }
}
