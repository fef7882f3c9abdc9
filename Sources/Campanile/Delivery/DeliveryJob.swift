import Synchronization

/// Deliveries that are due on a target.
///
/// Run it once, on the target. A second `run()` does nothing. Releasing a job that has not run
/// tells the mailbox that its target has ended.
///
/// Several jobs of different priorities may be on their way to one mailbox. The one that runs first
/// delivers; the others then find nothing to do.
public final class DeliveryJob: Sendable {
  /// How urgent the most urgent of the posts is that asked for this job.
  ///
  /// That of a thread which has no priority is medium.
  public var priority: TaskPriority { urgency.priority }

  let urgency: Urgency
  private let drained: any Drainable
  /// Whether it has been run, and has nothing to discard.
  private let isDone = Atomic<Bool>(false)
  /// Not kept: a target that keeps its jobs would keep itself.
  private weak let target: (any DeliveryTarget)?

  init(_ drained: any Drainable, _ priority: Urgency, on target: any DeliveryTarget) {
    self.drained = drained
    urgency = priority
    self.target = target
  }

  deinit {
    if !isDone.load(ordering: .acquiring) { drained.discardPending(urgency) }
  }

  /// Whether the caller is the one that runs the job.
  private func take() -> Bool { !isDone.exchange(true, ordering: .acquiringAndReleasing) }

  /// Delivers what is waiting.
  ///
  /// Call it on the target.
  public func run() {
    if take() { drained.drain(urgency, on: target) }
  }

  /// Delivers what is waiting for an asynchronous observer.
  func runInTask() async {
    if take() { await drained.drainInTask(urgency, on: target) }
  }

  /// Delivers the oldest of what is waiting, and keeps the rest for the next call.
  package func runNext() -> DrainStep {
    if isDone.load(ordering: .acquiring) { return .nothing }
    let step = drained.drainNext(urgency, on: target)
    // From here on the mailbox may have another job: this one must not discard for it.
    if step != .more { _ = take() }
    return step
  }

  /// How many deliveries are waiting.
  package var pendingCount: Int { source == nil ? 0 : drained.pendingCount }

  /// What the job is to empty, if it has not: two jobs of one mailbox have the same.
  package var source: ObjectIdentifier? {
    isDone.load(ordering: .acquiring) ? nil : ObjectIdentifier(drained)
  }
}

/// What one step of a job came to.
package enum DrainStep {
  /// Nothing was waiting, or another job is at it; the job is done.
  case nothing
  /// A delivery was made, and nothing is left; the job is done.
  case last
  /// A delivery was made, and the job is to go on.
  case more
}

/// What a job can empty.
protocol Drainable: AnyObject, Sendable {
  /// Delivers what is waiting; on a target that nobody keeps any more, all of it.
  func drain(_ priority: Urgency, on target: (any DeliveryTarget)?)
  /// Does the same in a task, where each call may take its time.
  func drainInTask(_ priority: Urgency, on target: (any DeliveryTarget)?) async
  /// Delivers the oldest of what is waiting.
  func drainNext(_ priority: Urgency, on target: (any DeliveryTarget)?) -> DrainStep
  /// Gives up what is waiting, since a job was released without having run.
  func discardPending(_ priority: Urgency)
  /// How much is waiting.
  var pendingCount: Int { get }
}
