import Campanile
public import CampanileFoundation
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
/// address. An object that is a value, and no instance, is compared by equality with values that
/// are observed.
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
/// A post that nobody hears costs a look-up under a lock, and makes nothing. A post finds the
/// observers of its object by hash, so that observers of other objects and values do not slow it. A
/// value is hashed and compared on the posting thread, under no lock.
public final class NotificationCenter: Sendable {
  private static let shared = NotificationCenter()

  private let hub = NotificationHub()
  var topics: KeyedCenter<PostedNotification> { hub.topics }
  let values = ValueSubjects()

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
    guard let audience = topics.audience(of: notification.name.rawValue) else { return }
    let instance = notification.subject
    let content = hub.makeContent(notification, about: instance)
    let subject = instance ?? valueSubject(notification.object)
    topics.post(PostedNotification(content), about: subject, to: audience)
    content.settle(isRead: true)
  }

  /// Posts a notification of a name, about an object, with user info.
  public func post(
    name aName: NSNotification.Name, object anObject: Any?,
    userInfo aUserInfo: [AnyHashable: Any]? = nil
  ) {
    guard let audience = topics.audience(of: aName.rawValue) else { return }
    let instance = Notification.subject(anObject)
    let content = makeContent(aName, anObject, aUserInfo, about: instance)
    let subject = instance ?? valueSubject(anObject)
    topics.post(PostedNotification(content), about: subject, to: audience)
    content.settle(isRead: true)
  }

  /// The object itself if it is an instance, or the instance that represents an observed value.
  private func subject(_ object: Any?) -> AnyObject? {
    Notification.subject(object) ?? valueSubject(object)
  }

  /// The instance that represents an observed value.
  private func valueSubject(_ object: Any?) -> AnyObject? {
    // Asked before the object is taken out, which copies it.
    if object == nil || values.count == 0 { return nil }
    return object.flatMap { values.subject(equalTo: $0) }
  }

  /// What observers are given of a notification.
  ///
  /// Not inlined: the notification is not to be on the stack while observers run.
  @inline(never)
  private func makeContent(
    _ name: Notification.Name, _ object: Any?, _ userInfo: [AnyHashable: Any]?,
    about instance: AnyObject?
  ) -> NotificationContent {
    hub.makeContent(
      Notification(name: name, object: object, userInfo: userInfo), about: instance)
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
      let body = ObserverBody<PostedNotification> { $0.withNotification(block) }
      let registration = register(request, body, of: name, sender, instance)
      return ObserverToken(registration, name: name, sender: sender)
    }
    let own = OwnRegistration()
    let body = ObserverBody<PostedNotification> { posted in
      // Few words of the stack are taken where the poster is on the queue: the observer may post again.
      guard QueuedCall.isMadeAtOnce(on: queue) else {
        return QueuedCall.make(on: queue) {
          // Removed meanwhile, the observer is not called.
          if own.isActive { posted.withNotification(block) }
        }
      }
      if own.isActive { posted.withNotification(block) }
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
  /// Swift 6.3 does not notice where a method is named by its type. An isolated observer observes
  /// with `observe(_:object:owner:on:buffering:_:file:line:_:)`, which `CampanileFoundation`
  /// declares for this center too.
  public func addObserver<Target: AnyObject & Sendable>(
    _ observer: Target, selector method: @escaping @Sendable (Target) -> (Notification) -> Void,
    name aName: NSNotification.Name?, object anObject: Any?,
    file: StaticString = #fileID, line: UInt = #line
  ) {
    let body = ObserverBody<PostedNotification>(observer) { target, posted in
      posted.withNotification(method(target))
    }
    _ = register(
      .inPlace(owner: observer, file: file, line: line), body, of: aName, Sender(anObject),
      Notification.subject(anObject))
  }

  private func register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<PostedNotification>,
    of name: Notification.Name?, _ sender: Sender, _ instance: AnyObject?
  ) -> Registration {
    guard case .value(let value) = sender else {
      return topics.register(
        request, body, of: name?.rawValue, about: instance.map { .some($0) }, once: false)
    }
    // No post is about what cannot be compared.
    guard let subject = values.makeSubject(for: value) else { return topics.ended }
    return topics.register(
      request, body.keeping(subject), of: name?.rawValue, about: .some(subject), once: false)
  }

  // MARK: Removing

  /// Removes an observer: a token, or an object that observes with its methods.
  ///
  /// A post that has not reached the observer skips it. The call does not wait, and neither does
  /// Foundation's. If a post on another thread has entered the observer, or is just entering it, the
  /// observer may run after this returns, from its first line on. To wait for that, observe with
  /// `observe(_:on:buffering:_:file:line:_:)` of `CampanileFoundation`, and end the
  /// observation with the token's `cancelAndWait()`.
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
      if token.matches(name: aName, object: object) { topics.removeObserver(token.registration) }
      return
    }
    guard type(of: observer) is AnyClass else { return }
    let subject = subject(object)
    // Nobody observes a value for which nothing stands.
    if object != nil && subject == nil { return }
    topics.removeObservers(ownedBy: observer as AnyObject, of: aName?.rawValue, about: subject)
  }
}

extension NotificationCenter: ObservableNotificationCenter {
  /// Everything that is posted here, as a source.
  ///
  /// A source keeps its center, and its observations do not.
  public var allNotifications: NotificationSource { NotificationSource(keeping: self, hub: hub) }
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
