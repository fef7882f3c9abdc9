import Campanile
import Foundation

/// An operation queue as a delivery target.
///
/// All deliveries on one queue share one target. The table of targets keeps neither the target nor
/// the queue.
final class OperationQueueTarget: DeliveryTarget {
  /// The live targets.
  ///
  /// Tests check its size.
  static let table = Locked(WeakTable<ObjectIdentifier, OperationQueueTarget>())

  let mailbox = Mailbox()
  private let queue: OperationQueue

  private init(_ queue: OperationQueue) { self.queue = queue }

  static func of(_ queue: OperationQueue) -> OperationQueueTarget {
    // The target keeps its queue, so no other queue can have this address.
    table.shared(ObjectIdentifier(queue), or: OperationQueueTarget(queue))
  }

  var isCurrent: Bool { OperationQueue.current === queue }

  var deliveryName: String { ".operationQueue(\(queue.name ?? ""))" }

  func enqueue(_ job: DeliveryJob) {
    // If the operation is canceled before it runs, it releases the job, which discards the waiting
    // deliveries. The next delivery adds another operation.
    let operation = ReleasingOperation { job.run() }
    // Not lower than the priority of the queue's other operations, which could otherwise delay it
    // forever.
    if job.priority >= .high { operation.queuePriority = .high }
    queue.addOperation(operation)
  }
}
