import Campanile
import CampanileFoundation
import Foundation

/// One observer of a distributed center, and the queue that it is called on.
final class DistributedObserver: Sendable {
  let behavior: DistributedCenter.SuspensionBehavior
  let registration = OwnRegistration()
  private let queue: OperationQueue?
  private let call: @Sendable (Notification) -> Void

  init(
    _ behavior: DistributedCenter.SuspensionBehavior, on queue: OperationQueue?,
    _ call: @escaping @Sendable (Notification) -> Void
  ) {
    self.behavior = behavior
    self.queue = queue
    self.call = call
  }

  /// Calls the observer, here or on its queue, unless it is removed before the call begins.
  func receive(_ post: DistributedPost) {
    guard let queue else { return callNow(post) }
    queue.addOperation { self.callNow(post) }
  }

  private func callNow(_ post: DistributedPost) {
    if registration.isActive { post.content.withNotification(call) }
  }
}

/// The observers of one post, in the order in which they were added.
final class DistributedAudience: Sendable {
  private let state = Locked<[DistributedObserver]>([])

  var observers: [DistributedObserver] { state.withLock { $0 } }

  func append(_ observer: DistributedObserver) { state.withLock { $0.append(observer) } }
}
