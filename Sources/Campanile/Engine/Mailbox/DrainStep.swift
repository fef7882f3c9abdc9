/// The result of one step of a job.
package enum DrainStep {
  /// Nothing was waiting, or another job is delivering; the job is done.
  case nothing
  /// A delivery was made; the job is done.
  case last
  /// A delivery was made, and the job continues.
  case more
}

extension DeliveryJob {
  /// Delivers the oldest of what is waiting, and keeps the rest for the next call.
  package func runNext() -> DrainStep {
    if source == nil { return .nothing }
    let step = drained.drainNext(urgency, on: target)
    // From here on the mailbox may have another job: this one must not discard for it.
    if step != .more { _ = take() }
    return step
  }
}

extension Mailbox {
  func drainNext(_ priority: Urgency, on target: (any DeliveryTarget)?) -> DrainStep {
    var batch = RecordBuffer()
    var kept: ObserverList?
    if begin(priority, &batch, keeping: &kept) == nil { return .nothing }
    defer { withExtendedLifetime(kept) {} }
    var call: PreparedCall?
    _ = batch.deliver(atMost: 1, inTask: &call, left: undelivered)
    guard let next = exchange(&batch, { $0.giveWay(priority, &$1) }), let target else {
      return .last
    }
    if next == priority { return .more }
    schedule(next, target)
    return .last
  }
}
