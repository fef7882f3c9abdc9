import Campanile
import CampanileFoundation
public import Foundation

/// Foundation's notification center, on Campanile's engine.
///
/// A file that imports the class by name uses it in place of Foundation's, and is otherwise
/// unchanged:
///
/// ```swift
/// import Foundation
/// import class CampanileNotificationCenter.NotificationCenter
///
/// let token = NotificationCenter.default.addObserver(
///   forName: .trackChanged, object: nil, queue: .main
/// ) { notification in
///   print(notification.userInfo ?? [:])
/// }
/// NotificationCenter.default.post(name: .trackChanged, object: nil)
/// ```
///
/// ## Behavior
///
/// A post calls the observers that were registered when it began, in the order in which they
/// registered, whatever they filter by, on the thread that posts. One that is removed before its
/// turn is skipped. An observer of an object is not taken for one of another object at the same
/// address; an object that is a value, and no instance, is compared by equality.
///
/// An observer with a queue is called on that queue before `post` returns. The poster waits for
/// that call and for nothing else on the queue, and while it waits it runs what is addressed to the
/// queue that it is on itself: so two queues that post to each other do not wait forever. The
/// queue is retained.
///
/// All methods are safe from any thread and from inside an observer, and no lock is held while one
/// runs. The observations end with the center. A token that is released ends nothing, as Foundation
/// has it.
///
/// A post that nobody hears costs a look-up under a lock, and makes nothing.
public final class NotificationCenter: Sendable {
  private static let shared = NotificationCenter()

  let topics = KeyedCenter<PostedNotification>()
  let values = SenderValues()

  /// Creates a center that nobody observes.
  public init() {}

  /// The center that parts of a program share.
  ///
  /// It is not Foundation's: what is posted there is not heard here, unless it is forwarded; see
  /// ``forwardNotifications(of:from:file:line:)``.
  public class var `default`: NotificationCenter { shared }

  // MARK: Posting

  /// Posts a notification.
  public func post(_ notification: Notification) {
    topics.post(to: notification.name.rawValue, about: notification.subject) {
      PostedNotification(notification)
    }
  }

  /// Posts a notification of a name, about an object, with user info.
  public func post(
    name aName: NSNotification.Name, object anObject: Any?,
    userInfo aUserInfo: [AnyHashable: Any]? = nil
  ) {
    post(Notification(name: aName, object: anObject, userInfo: aUserInfo))
  }

  // MARK: Observing

  /// Observes until the token is given to `removeObserver(_:)`.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - obj: What the notifications are to be about, or `nil` for whatever. It is not kept.
  ///   - queue: Where to call the block, before the post returns; `nil` for where it is posted.
  ///   - file: The caller's file, for ``description``.
  ///   - line: The caller's line.
  ///   - block: What is called.
  /// - Returns: A token, which need not be kept to keep the observation.
  public func addObserver(
    forName name: NSNotification.Name?, object obj: Any?, queue: OperationQueue?,
    file: StaticString = #fileID, line: UInt = #line,
    using block: @escaping @Sendable (Notification) -> Void
  ) -> any NSObjectProtocol {
    let (sender, instance) = (Sender(obj), Notification.subject(obj))
    let request = ObservationRequest.inPlace(file: file, line: line)
    guard let queue else {
      let body = ObserverBody<PostedNotification> { block($0.notification) }
      let registration = register(request, body, of: name, sender, instance)
      return ObserverToken(registration, name: name, sender: sender)
    }
    let own = OwnRegistration()
    let body = ObserverBody<PostedNotification> { posted in
      QueuedCall.make(on: queue) {
        // Removed meanwhile, the observer is not called.
        if own.isActive { block(posted.notification) }
      }
    }
    let registration = register(request, body, of: name, sender, instance)
    own.set(registration)
    return ObserverToken(registration, name: name, sender: sender)
  }

  /// Observes as the method does whose caller is known.
  ///
  /// For what asks for Foundation's method by its name: a requirement of a protocol that both
  /// centers conform to, or a reference to the method. Calls in a program use the other one.
  /// ``description`` has a line of the library for such an observation, in place of the caller's.
  @_disfavoredOverload
  public func addObserver(
    forName name: NSNotification.Name?, object obj: Any?, queue: OperationQueue?,
    using block: @escaping @Sendable (Notification) -> Void
  ) -> any NSObjectProtocol {
    addObserver(
      forName: name, object: obj, queue: queue, file: #fileID, line: #line, using: block)
  }

  /// Observes with a method of an object, until the object ends or is removed.
  ///
  /// ```swift
  /// center.addObserver(screen, selector: Screen.trackChanged, name: .trackChanged, object: nil)
  /// ```
  ///
  /// The object is held weakly, and kept alive for the length of each call. This is what stands for
  /// a selector. On Apple platforms `#selector(…)` is not taken here: the compiler says so, and the
  /// method is named by its type as above.
  ///
  /// The method is called on the thread that posts. It must not be isolated to an actor, which
  /// Swift 6.3 does not notice where a method is named by its type; an observer that is isolated is
  /// for the `observe` methods of `CampanileFoundation`.
  public func addObserver<Target: AnyObject & Sendable>(
    _ observer: Target, selector method: @escaping @Sendable (Target) -> (Notification) -> Void,
    name aName: NSNotification.Name?, object anObject: Any?,
    file: StaticString = #fileID, line: UInt = #line
  ) {
    let body = ObserverBody<PostedNotification>(observer) { target, posted in
      method(target)(posted.notification)
    }
    let sender = Sender(anObject)
    let registration = register(
      .inPlace(owner: observer, file: file, line: line), body, of: aName, sender,
      Notification.subject(anObject))
    if case .value(let value) = sender { values.add(value, for: registration) }
  }

  private func register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<PostedNotification>,
    of name: Notification.Name?, _ sender: Sender, _ instance: AnyObject?
  ) -> Registration {
    guard case .value(let value) = sender else {
      return topics.register(
        request, body, of: name?.rawValue, about: instance.map { .some($0) }, once: false)
    }
    let filtered = body.mapped(once: false) { (posted: PostedNotification) in
      value.isSender(of: posted.notification) ? posted : nil
    }
    return topics.register(request, filtered, of: name?.rawValue, about: .none, once: false)
  }

  // MARK: Removing

  /// Removes an observer: a token, or an object that observes with its methods.
  ///
  /// Another center's token, one that was removed before, and an object that observes nothing are
  /// left as they are.
  public func removeObserver(_ observer: Any) {
    removeObserver(observer, name: nil, object: nil)
  }

  /// Removes an observer, where the name and the object it was added with are these.
  ///
  /// - Parameters:
  ///   - observer: A token, or an object that observes with its methods.
  ///   - aName: The name, or `nil` for whatever name.
  ///   - object: The object, or `nil` for whatever object.
  /// - Complexity: O(*n*) in the observations of that object.
  public func removeObserver(
    _ observer: Any, name aName: NSNotification.Name?, object: Any?
  ) {
    if let token = observer as? ObserverToken {
      if token.matches(name: aName, Sender(object)) { topics.removeObserver(token.registration) }
      return
    }
    guard type(of: observer) is AnyClass else { return }
    var chosen = topics.registrations(
      ownedBy: observer as AnyObject, of: aName?.rawValue, about: Notification.subject(object))
    if case .value(let value) = Sender(object) {
      chosen = values.registrations(chosen, about: value)
    }
    for registration in chosen { registration.cancel() }
  }
}

extension NotificationCenter: Equatable {
  /// Whether two centers are one.
  public static func == (one: NotificationCenter, other: NotificationCenter) -> Bool {
    one === other
  }
}

extension NotificationCenter: Hashable {
  /// Hashes the center's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension NotificationCenter: CustomStringConvertible {
  /// The live observations, a line each.
  public var description: String {
    topics.registrations.reduce("NotificationCenter") { $0 + "\n  " + $1.description }
  }
}
