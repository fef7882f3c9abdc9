/// Deliveries that are due on a target.
///
/// Run it once, on the target. A second `run()` does nothing. Releasing a job that has not run
/// tells the mailbox that its target has ended.
public final class DeliveryJob: Sendable {
  private let drained: Locked<(any Drainable)?>
  /// Not kept: a target that keeps its jobs would keep itself.
  private weak let target: (any DeliveryTarget)?

  init(_ drained: any Drainable, on target: any DeliveryTarget) {
    self.drained = Locked(drained)
    self.target = target
  }

  deinit {
    drained.withLock { $0.take() }?.discardPending()
  }

  /// Delivers what is waiting.
  ///
  /// Call it on the target.
  public func run() {
    drained.withLock { $0.take() }?.drain(on: target)
  }

  /// Delivers the oldest of what is waiting, and keeps the rest for the next call.
  ///
  /// - Returns: whether there is a rest; if there is none, the job has been run.
  package func runNext() -> Bool {
    guard let next = drained.withLock({ $0 }) else { return false }
    if next.drainNext(on: target) { return true }
    // From here on the mailbox may have another job: this one must not discard for it.
    _ = drained.withLock { $0.take() }
    return false
  }

  /// How many deliveries are waiting.
  package var pendingCount: Int { drained.withLock { $0 }?.pendingCount ?? 0 }
}

/// What a job can empty.
protocol Drainable: AnyObject, Sendable {
  /// Delivers what is waiting; on a target that nobody keeps any more, all of it.
  func drain(on target: (any DeliveryTarget)?)
  /// Delivers the oldest of what is waiting.
  ///
  /// - Returns: whether more is waiting, for which no job will be enqueued.
  func drainNext(on target: (any DeliveryTarget)?) -> Bool
  func discardPending()
  /// How much is waiting.
  var pendingCount: Int { get }
}
