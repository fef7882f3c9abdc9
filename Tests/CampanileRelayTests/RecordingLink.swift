import Dispatch
import Synchronization

@testable import CampanileRelay

/// A link that records what it is to do, and says what a test has it say.
final class RecordingLink: RelayLink {
  let queue = DispatchQueue(label: "test.link")
  let step: UInt64 = 1
  /// What it is to do; ends when the link is stopped.
  let operations: AsyncStream<RelayOperation>
  private let continuation: AsyncStream<RelayOperation>.Continuation
  private let receiver = Mutex<(any RelayReceiver)?>(nil)

  init() { (operations, continuation) = AsyncStream.makeStream() }

  func start(_ receiver: any RelayReceiver) { self.receiver.withLock { $0 = receiver } }
  func perform(_ operations: [RelayOperation]) {
    for operation in operations { continuation.yield(operation) }
  }
  func setReading(_ reads: Bool) {}
  func stop() {
    continuation.finish()
    // Released outside the lock. Otherwise each would keep the other.
    let receiver = receiver.withLock { $0.take() }
    withExtendedLifetime(receiver) {}
  }

  func say(_ incident: RelayIncident) {
    let receiver = receiver.withLock { $0 }
    queue.async { receiver?.receive([incident]) }
  }
}
