import Campanile

/// Collects what observers are given, from any thread.
package final class Recorder<Value: Sendable>: Sendable {
  private let state = Locked<[Value]>([])

  package init() {}

  package func record(_ value: Value) { state.withLock { $0.append(value) } }

  package var values: [Value] { state.withLock { $0 } }
  package var count: Int { values.count }
}
