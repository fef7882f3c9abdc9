import Campanile
package import Foundation

/// An operation that releases what it is to run as soon as it is canceled.
///
/// A queue reaches a canceled operation after those before it, and does not while it is suspended.
// SAFETY: the conformance is Foundation's, and the stored property is `Sendable`.
package final class ReleasingOperation: Operation, @unchecked Sendable {
  private let work: Locked<(@Sendable () -> Void)?>

  /// Creates an operation that calls `work` once, unless it is canceled before.
  package init(_ work: @escaping @Sendable () -> Void) { self.work = Locked(work) }

  package override func main() { take()?() }

  package override func cancel() {
    super.cancel()
    // Released outside the lock.
    withExtendedLifetime(take()) {}
  }

  private func take() -> (@Sendable () -> Void)? { work.withLock { $0.take() } }
}
