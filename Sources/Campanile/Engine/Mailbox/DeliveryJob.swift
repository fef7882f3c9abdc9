import Synchronization

/// Deliveries that are due on a target.
///
/// Run it once, on the target; a second `run()` does nothing. If a job is released without having
/// run, its target has ended, so the mailbox discards the deliveries that wait.
///
/// Several jobs of different priorities may be enqueued for one mailbox. The first to run delivers,
/// and the others find nothing to do.
public final class DeliveryJob: Sendable {
  /// The priority of the most urgent post that asked for this job.
  ///
  /// A post from a thread without a priority counts as medium.
  public var priority: TaskPriority { urgency.priority }

  let urgency: Urgency
  let drained: any Drainable
  /// Whether it has been run, and has nothing to discard.
  private let isDone = Atomic<Bool>(false)
  /// Not retained, because a target that stores its jobs would retain itself.
  weak let target: (any DeliveryTarget)?

  init(_ drained: any Drainable, _ priority: Urgency, on target: any DeliveryTarget) {
    self.drained = drained
    urgency = priority
    self.target = target
  }

  deinit {
    // Pairs with `take`: nobody else has the job any more.
    if !isDone.load(ordering: .acquiring) { drained.discardPending(urgency) }
  }

  /// Whether the caller is the one that runs the job.
  func take() -> Bool {
    // Pairs with `source` and the end: of two callers, one reads false.
    !isDone.exchange(true, ordering: .acquiringAndReleasing)
  }

  /// Delivers what is waiting.
  ///
  /// Call it on the target.
  public func run() {
    if take() { drained.drain(urgency, on: target) }
  }

  /// How many deliveries are waiting.
  package var pendingCount: Int { source == nil ? 0 : drained.waitingCount }

  /// The identity of the mailbox that the job drains, if it has not run.
  package var source: ObjectIdentifier? {
    // Pairs with `take`.
    isDone.load(ordering: .acquiring) ? nil : ObjectIdentifier(drained)
  }
}

/// A mailbox that a job can drain.
protocol Drainable: AnyObject, Sendable {
  /// Delivers what is waiting; if the target is no longer kept alive, all of it.
  func drain(_ priority: Urgency, on target: (any DeliveryTarget)?)
  /// Delivers the waiting messages in a task, where each call may suspend.
  func drainInTask(_ priority: Urgency, on target: (any DeliveryTarget)?) async
  /// Delivers the oldest of what is waiting.
  func drainNext(_ priority: Urgency, on target: (any DeliveryTarget)?) -> DrainStep
  /// Discards what is waiting, because a job was released without having run.
  func discardPending(_ priority: Urgency)
  /// How much is waiting.
  var waitingCount: Int { get }
}
