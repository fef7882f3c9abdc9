import Campanile
import CampanileFoundation
import Foundation

/// One observer of a distributed center, and the queue that it is called on.
final class DistributedObserver: Sendable {
  let behavior: DistributedCenter.SuspensionBehavior
  let registration = OwnRegistration()
  /// Delivers on the observer's queue, or is `nil` if that is the main queue.
  private let queued: Broadcaster<DistributedPost>?
  private let call: @Sendable (Notification) -> Void

  init(
    _ behavior: DistributedCenter.SuspensionBehavior, on queue: OperationQueue?,
    _ call: @escaping @Sendable (Notification) -> Void
  ) {
    self.behavior = behavior
    self.call = call
    guard let queue, queue !== OperationQueue.main else {
      queued = nil
      return
    }
    let queued = Broadcaster<DistributedPost>()
    self.queued = queued
    queued.observe(owner: self, on: .operationQueue(queue, ordered: true)) { $0.callNow($1) }
  }

  /// Calls the observer, here or on its queue, unless it is removed before the call begins.
  func receive(_ post: DistributedPost) {
    if let queued { queued.send(post) } else { callNow(post) }
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
