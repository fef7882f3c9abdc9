import Dispatch
import Synchronization

/// Counts deliveries on other threads, so that the thread that posted can wait for the last.
final class Arrivals: Sendable {
  private let left = Atomic(0)
  private let haveArrived = DispatchSemaphore(value: 0)

  /// Says how many deliveries there will be.
  func expect(_ count: Int) {
    left.store(count, ordering: .releasing)
  }

  func arrive() {
    let left = left.subtract(1, ordering: .acquiringAndReleasing).newValue
    if left == 0 { haveArrived.signal() }
  }

  /// Returns once all that were expected have arrived.
  func wait() { haveArrived.wait() }
}

/// The nanoseconds from posting to hearing, of messages that carry the time of their post.
final class Latencies: Sendable {
  private let values = Mutex<[Double]>([])

  @inline(__always)
  func hear(_ message: Message8) {
    let elapsed = Double(now()) - Double(message.value)
    values.withLock { $0.append(elapsed) }
  }

  /// Takes out what was heard since the last time.
  func take() -> [Double] {
    values.withLock { values in
      defer { values.removeAll(keepingCapacity: true) }
      return values
    }
  }
}
