import Foundation

/// An operation queue of width one, on a thread of its own, that tells what is asked of it.
final class WatchedQueue: OperationQueue, @unchecked Sendable {
  private let queue = DispatchQueue(label: "WatchedQueue")
  private let onWait: @Sendable () -> Void
  /// Signaled for each operation that has been added.
  let added = DispatchSemaphore(value: 0)

  /// - Parameter onWait: Called when somebody is about to wait for all operations.
  init(_ onWait: @escaping @Sendable () -> Void = {}) {
    self.onWait = onWait
    super.init()
    maxConcurrentOperationCount = 1
    // SAFETY: the queue that is not retained is kept here.
    unsafe underlyingQueue = queue
  }

  override func addOperation(_ operation: Operation) {
    super.addOperation(operation)
    added.signal()
  }

  override func waitUntilAllOperationsAreFinished() {
    onWait()
    super.waitUntilAllOperationsAreFinished()
  }
}
