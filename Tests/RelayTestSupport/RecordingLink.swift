package import CampanileRelay
package import Dispatch
import Synchronization

/// A link that records what it is to do, and says what a test has it say.
package final class RecordingLink: RelayLink {
  package let queue = DispatchQueue(label: "test.link")
  package let step: UInt64 = 1
  /// What it is to do; ends when the link is stopped.
  package let operations: AsyncStream<RelayOperation>
  private let continuation: AsyncStream<RelayOperation>.Continuation
  private let receiver = Mutex<(any RelayReceiver)?>(nil)

  /// What it says at once to an operation.
  private let reply: @Sendable (RelayOperation) -> RelayIncident?

  package init(_ reply: @escaping @Sendable (RelayOperation) -> RelayIncident? = { _ in nil }) {
    (operations, continuation) = AsyncStream.makeStream()
    self.reply = reply
  }

  package func start(_ receiver: any RelayReceiver) { self.receiver.withLock { $0 = receiver } }
  package func perform(_ operations: [RelayOperation]) {
    for operation in operations {
      continuation.yield(operation)
      let receiver = receiver.withLock { $0 }
      if let incident = reply(operation) { receiver?.receive([incident]) }
    }
  }
  package func setReading(_ reads: Bool) {}
  package func stop() {
    continuation.finish()
    // Released outside the lock. Otherwise each would keep the other.
    let receiver = receiver.withLock { $0.take() }
    withExtendedLifetime(receiver) {}
  }

  package func say(_ incident: RelayIncident) {
    let receiver = receiver.withLock { $0 }
    queue.async { receiver?.receive([incident]) }
  }
}
