@testable import Campanile

/// Collects what observers are given, from any thread.
final class Recorder<Value: Sendable>: Sendable {
  private let state = Locked<[Value]>([])

  func record(_ value: Value) { state.withLock { $0.append(value) } }

  var values: [Value] { state.withLock { $0 } }
  var count: Int { values.count }
}
