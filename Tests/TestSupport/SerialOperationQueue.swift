package import Foundation

/// An operation queue of width one, on a thread that waits for no other.
///
/// The threads that operation queues share are few, and a thread that blocks is replaced a second
/// later. A test that holds operations would wait for that.
package final class SerialOperationQueue: OperationQueue, @unchecked Sendable {
  private let queue = DispatchQueue(label: "SerialOperationQueue")

  package override init() {
    super.init()
    maxConcurrentOperationCount = 1
    // SAFETY: the queue that is not retained is kept here.
    unsafe underlyingQueue = queue
  }
}
