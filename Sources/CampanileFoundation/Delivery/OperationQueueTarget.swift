import Campanile
import Foundation

/// An operation queue as a place where observers run.
///
/// Everybody who names one queue gets one target, found in a table that keeps neither.
final class OperationQueueTarget: DeliveryTarget {
  /// What has been named so far; tests look at its size.
  static let table = Locked(WeakTable<ObjectIdentifier, OperationQueueTarget>())

  let mailbox = Mailbox()
  private let queue: OperationQueue

  private init(_ queue: OperationQueue) { self.queue = queue }

  static func of(_ queue: OperationQueue) -> OperationQueueTarget {
    let new = OperationQueueTarget(queue)
    // What was looked at goes outside the lock: to look may be to hold it last.
    let (target, seen) = table.withLock { table -> (OperationQueueTarget, [OperationQueueTarget]) in
      let id = ObjectIdentifier(queue)
      // A target keeps its queue, so that the address cannot be another queue's.
      if let target = table[id] { return (target, []) }
      return (new, table.insert(new, for: id))
    }
    withExtendedLifetime(seen) {}
    return target
  }

  var isCurrent: Bool { OperationQueue.current === queue }

  var deliveryName: String { ".operationQueue(\(queue.name ?? ""))" }

  func enqueue(_ job: DeliveryJob) {
    // An operation that is canceled before it runs lets go of the job, which discards what waits.
    let operation = BlockOperation { job.run() }
    // Never lower than that of the queue's other operations, which would hold it up for good.
    if job.priority >= .high { operation.queuePriority = .high }
    queue.addOperation(operation)
  }
}
