import Campanile
import CampanileFoundation
import Foundation

/// An observer of a distributed center.
final class DistributedObserver: Sendable {
  let behavior: DistributedCenter.SuspensionBehavior
  private let name: String?
  private let object: String?
  /// The name under which its notifications travel.
  private let subject: String?
  private let queue: OperationQueue?
  /// Returns the object that observes, while it lives; `nil` if no object does.
  private let owner: (@Sendable () -> AnyObject?)?
  private let call: @Sendable (Notification) -> Void
  private let isRemoved = Locked(false)

  init(
    _ name: Notification.Name?, _ object: String?,
    _ behavior: DistributedCenter.SuspensionBehavior, queue: OperationQueue? = nil,
    owner: (@Sendable () -> AnyObject?)? = nil, _ call: @escaping @Sendable (Notification) -> Void
  ) {
    self.name = name?.rawValue
    self.object = object
    self.behavior = behavior
    self.queue = queue
    self.owner = owner
    self.call = call
    subject = name.map(DistributedPost.subject)
  }

  func listens(to subject: String) -> Bool { self.subject.map { $0 == subject } ?? true }

  func matches(_ post: DistributedPost) -> Bool {
    (name.map { $0 == post.name } ?? true) && (object.map { $0 == post.object } ?? true)
  }

  /// Whether it was added with this name and object, of which each may be left out.
  func wasAdded(name: Notification.Name?, object: String?) -> Bool {
    (name.map { $0.rawValue == self.name } ?? true) && (object.map { $0 == self.object } ?? true)
  }

  // Looking at the owner may release it: these two are not called under a lock.

  func isOwned(by object: AnyObject) -> Bool { owner?() === object }

  var isOver: Bool { owner.map { $0() == nil } ?? false }

  /// From now on no call begins.
  func end() { isRemoved.withLock { $0 = true } }

  /// Calls the observer, here or on its queue.
  func receive(_ post: DistributedPost) {
    guard let queue else { return callNow(post) }
    queue.addOperation { self.callNow(post) }
  }

  private func callNow(_ post: DistributedPost) {
    if !isRemoved.withLock({ $0 }) { post.content.withNotification(call) }
  }
}

/// What `addObserver(forName:object:queue:using:)` hands out.
final class DistributedToken: NSObject {
  let observer: DistributedObserver

  init(_ observer: DistributedObserver) { self.observer = observer }
}
