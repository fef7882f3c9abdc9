/// Waits until every delivery of one post, or of several, has ended.
///
/// While a post runs, `begin()` counts every delivery to another place. `end()` uncounts a
/// delivery when it has run or was discarded.
package final class DeliveryTracker: Sendable {
  /// The deliveries under way, and one for the posts themselves.
  private let deliveries = Pending(1)
  /// The calls of asynchronous observers that the wait is part of.
  let waiters: [AsyncCall]

  /// - Parameter isAwaited: Whether the current task, or one that it begins, is to wait.
  package init(isAwaited: Bool = true) { waiters = isAwaited ? AsyncCall.running : [] }

  /// Whether the wait is part of a call of the observer.
  ///
  /// The thread that makes the deliveries need not be the one that waits.
  func isWait(inside observer: DeliveryCounters) -> Bool {
    AsyncCall.isRunning(of: observer, among: waiters)
  }

  /// Whether the current task is part of the call of an asynchronous observer.
  package static var isInsideCall: Bool { AsyncCall.isInside }

  /// Makes a post, and waits until its deliveries have ended.
  ///
  /// - Throws: `CancellationError` if the waiting task is canceled. The deliveries are still made.
  static func wait(for post: (DeliveryTracker) -> Void) async throws {
    let tracker = DeliveryTracker()
    post(tracker)
    tracker.end()
    try await tracker.wait()
  }

  package func begin() { deliveries.begin() }

  package func end() { deliveries.end() }

  /// Ends the posts, and calls a closure when their deliveries have ended, on the last one's thread.
  package func end(then resume: @escaping @Sendable () -> Void) {
    deliveries.wait(then: resume)
    end()
  }

  /// Waits for the deliveries that have begun, and for the post, which `end()`s too.
  ///
  /// - Throws: `CancellationError` if the waiting task is canceled. The deliveries are still made.
  package func wait() async throws {
    await deliveries.wait()
    if !deliveries.isEmpty { throw CancellationError() }
  }
}

extension Post {
  /// Whether the post has anything but the value and the subject.
  package var hasDetails: Bool { details != nil }

  /// The centers and carriers that the message came through before this center.
  package var path: [PathStep] { details?.content.path ?? [] }

  /// Holds the delivery open: a caller that waits for the post waits until the delivery is ended.
  ///
  /// - Returns: The object that ends the delivery; `nil` if no caller waits for the post.
  package borrowing func hold() -> HeldDelivery? {
    tracker.map { HeldDelivery($0) }
  }
}

/// A delivery that continues after its observer has returned.
///
/// It ends when the object is released, or earlier.
package final class HeldDelivery: Sendable {
  private let tracker: Locked<DeliveryTracker?>

  init(_ tracker: DeliveryTracker) {
    tracker.begin()
    self.tracker = Locked(tracker)
  }

  deinit { end() }

  /// Ends the delivery; later calls do nothing.
  package func end() { tracker.withLock { $0.take() }?.end() }
}
