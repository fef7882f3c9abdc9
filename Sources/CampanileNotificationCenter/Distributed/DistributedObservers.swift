import Campanile
import CampanileFoundation
import Dispatch
import Foundation

/// The observers of a distributed center, and the calls held for them.
///
/// A post collects its observers from the engine, and then calls them as the suspension allows.
final class DistributedObservers: Sendable {
  /// The keys are the names under which notifications are sent.
  private let topics = KeyedCenter<DistributedAudience>()
  private let objects = ValueSubjects()
  private let suspension = Locked(Suspension())

  // MARK: Observing

  func isObserved(_ subject: String) -> Bool {
    topics.keys.isObserved(subject) || topics.keys.isObserved(nil)
  }

  func listing(under title: String) -> String { topics.keys.inspection.named(title).listing }

  /// - Parameter body: Appends the observer to an audience.
  func add(
    _ observer: DistributedObserver, _ request: consuming ObservationRequest,
    _ body: ObserverBody<DistributedAudience>, _ name: Notification.Name?, _ object: String?
  ) -> Registration {
    let subject = object.flatMap { objects.makeSubject(for: SenderValue($0)) }
    let registration = topics.register(
      request, subject.map { body.keeping($0) } ?? body, of: name.map(DistributedPost.subject),
      about: subject.map { .some($0) })
    observer.registration.set(registration)
    return registration
  }

  /// Ends all observations.
  ///
  /// Posts and calls that wait then reach no observer.
  func finish() { topics.keys.finish() }

  func remove(_ registration: Registration) { topics.keys.removeObserver(registration) }

  func remove(ownedBy owner: AnyObject, _ name: Notification.Name?, _ object: String?) {
    let subject = object.flatMap { objects.subject(equalTo: $0) }
    // An object without a subject has no observers.
    if object != nil && subject == nil { return }
    topics.keys.removeObservers(
      ownedBy: owner, of: name.map(DistributedPost.subject), about: subject)
  }

  // MARK: Delivering

  /// Delivers a post to its observers.
  ///
  /// Called on the main queue.
  func receive(_ post: DistributedPost) {
    let audience = DistributedAudience()
    let object = post.object.flatMap { objects.subject(equalTo: $0) }
    topics.post(to: DistributedPost.subject(of: post.name), about: object) { audience }
    make(suspension.withLock { $0.receive(post, audience.observers) })
  }

  var isSuspended: Bool { suspension.withLock { $0.isSuspended } }

  func setSuspended(_ isSuspended: Bool) {
    let isFlushDue = suspension.withLock { $0.set(isSuspended) }
    if !isFlushDue { return }
    DispatchQueue.main.async { self.make(self.suspension.withLock { $0.takeDue() }) }
  }

  private func make(_ calls: [DistributedCall]) {
    for call in calls { call.observer?.receive(call.post) }
  }
}

/// A post that an observer has to receive.
struct DistributedCall: Sendable {
  /// Not kept, so that an observer that is removed is released although its call is held.
  weak let observer: DistributedObserver?
  let post: DistributedPost
  /// Compared in place of the observer, which is never loaded under the lock: the load could hold
  /// the last reference.
  ///
  /// Another observer may get the address of a removed one, whose calls are not made any more.
  private let id: ObjectIdentifier

  init(_ observer: DistributedObserver, _ post: DistributedPost) {
    self.observer = observer
    self.post = post
    id = ObjectIdentifier(observer)
  }

  /// Whether the other call has the same observer, name and object.
  fileprivate func isReplaced(by other: DistributedCall) -> Bool {
    id == other.id && post.name == other.post.name && post.object == other.post.object
  }
}

/// The calls that are held while the center is suspended, in the order of arrival.
struct Suspension {
  private(set) var isSuspended = false
  private var held: [DistributedCall] = []
  /// Whether held calls must be made before any other call.
  private var isFlushDue = false

  /// When this many calls are held, they are made.
  private static let limit = 1_000

  /// - Returns: Whether the caller has to make the due calls.
  mutating func set(_ isSuspended: Bool) -> Bool {
    defer { self.isSuspended = isSuspended }
    if isSuspended || held.isEmpty { return false }
    isFlushDue = true
    return true
  }

  mutating func takeDue() -> [DistributedCall] { isFlushDue ? takeAll() : [] }

  private mutating func takeAll() -> [DistributedCall] {
    defer { (held, isFlushDue) = ([], false) }
    return held
  }

  /// Holds a post for the observers that do not receive it yet.
  ///
  /// - Returns: The calls to make now, in order.
  mutating func receive(
    _ post: DistributedPost, _ observers: [DistributedObserver]
  ) -> [DistributedCall] {
    let due = takeDue()
    let calls = observers.map { DistributedCall($0, post) }
    if !isSuspended || post.isImmediate { return due + calls }
    if observers.contains(where: { $0.behavior == .deliverImmediately }) {
      return due + takeAll() + calls
    }
    for (observer, call) in zip(observers, calls) where observer.behavior != .drop {
      if observer.behavior == .coalesce { held.removeAll { $0.isReplaced(by: call) } }
      held.append(call)
    }
    return held.count < Self.limit ? due : due + takeAll()
  }
}
