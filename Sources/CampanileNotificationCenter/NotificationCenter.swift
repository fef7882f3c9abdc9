import Campanile
public import CampanileFoundation
public import Foundation

/// Foundation's notification center, reimplemented on Campanile.
///
/// A file that imports the class by name uses it instead of Foundation's, and needs no other
/// change:
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
/// A post calls the observers that were registered when it began, on the posting thread, in the
/// order in which they registered, whatever their filters. An observer that is removed before its
/// turn is skipped. An observer of an object is never called for another object at the same
/// address. An object that is a value instead of a class instance is compared by equality with the
/// observed values.
///
/// An observer with a queue is called on that queue before `post` returns. The poster waits for
/// that call alone. While it waits, it makes the calls that other posts address to its own queue,
/// so two queues that post to each other do not deadlock. The queue is retained.
///
/// All methods are safe to call from any thread and from inside an observer, because no lock is
/// held while an observer runs. The observations end with the center. As in Foundation, the release
/// of a token does not end its observation.
///
/// A post without observers costs a look-up under a lock, and allocates nothing. A post takes no
/// lock if its name is the constant with which the name was first observed. A post finds the
/// observers of its object by hash, so observers of other objects and values do not make it slower.
/// A value is hashed and compared on the posting thread, while no lock is held. While the center
/// has typed observers, each post takes a lock to find those of its name.
public final class NotificationCenter: Sendable {
  private static let shared = NotificationCenter()

  let hub = NotificationHub()
  /// The topics of the hub; a post counts no references to reach them.
  let topics: KeyedCenter<PostedNotification>
  let values = ValueSubjects()

  /// Creates a center without observers.
  public init() { topics = hub.topics }

  /// The center that is shared in a program.
  ///
  /// Posts to Foundation's default center, which is another one, do not arrive here unless they are
  /// forwarded; see ``forwardNotifications(of:from:file:line:)``.
  public class var `default`: NotificationCenter { shared }

  // MARK: Posting

  /// Posts a notification.
  public func post(_ notification: Notification) {
    post(name: notification.name, object: notification.object, userInfo: notification.userInfo)
  }

  /// Posts a notification that came through other centers.
  func post(_ notification: Notification, along path: [PathStep]) {
    let key = notification.name.rawValue
    guard topics.keys.isHeard(key) else { return }
    let (posted, subject) = make(
      notification.name, notification.object, notification.userInfo, about: notification.subject)
    if let recipients = topics.keys.recipients(of: key) {
      topics.keys.post(posted, about: subject, along: path, to: recipients)
    }
    posted.settle()
  }

  /// Posts a notification of a name, about an object, with user info.
  public func post(
    name aName: NSNotification.Name, object anObject: Any?,
    userInfo aUserInfo: [AnyHashable: Any]? = nil
  ) {
    let instance = Notification.subject(anObject)
    if hub.decodes || instance == nil && anObject != nil && values.count > 0 {
      return postMade(aName, anObject, aUserInfo, about: instance)
    }
    guard let recipients = topics.keys.recipients(of: aName.rawValue) else { return }
    let posted = PostedNotification(
      hub.makeContent(aName, anObject, aUserInfo, about: instance))
    topics.post(posted, about: instance, to: recipients)
    posted.settle()
  }

  /// Posts a notification for which foreign code runs: decoders, or the `==` of values.
  ///
  /// That code runs before the post begins. The instance is consumed, so that the caller leaves
  /// nothing on the stack while observers run.
  @inline(never)
  private func postMade(
    _ name: Notification.Name, _ object: Any?, _ userInfo: [AnyHashable: Any]?,
    about instance: consuming AnyObject?
  ) {
    let key = name.rawValue
    guard topics.keys.isHeard(key) else { return }
    let (posted, subject) = make(name, object, userInfo, about: instance)
    if let recipients = topics.keys.recipients(of: key) {
      topics.post(posted, about: subject, to: recipients)
    }
    posted.settle()
  }

  /// A notification as observers receive it, and what it is about.
  ///
  /// Not inlined, so that what it needs is not on the stack while observers run.
  @inline(never)
  private func make(
    _ name: Notification.Name, _ object: Any?, _ userInfo: [AnyHashable: Any]?,
    about instance: AnyObject?
  ) -> (posted: PostedNotification, subject: AnyObject?) {
    let posted = PostedNotification(hub.makeContent(name, object, userInfo, about: instance))
    return (posted, instance ?? valueSubject(object))
  }

  /// The object itself if it is a class instance, or the instance that represents an observed
  /// value.
  private func subject(_ object: Any?) -> AnyObject? {
    Notification.subject(object) ?? valueSubject(object)
  }

  /// The instance that represents an observed value.
  private func valueSubject(_ object: Any?) -> AnyObject? {
    // Checked before the object is unwrapped, which copies it.
    if object == nil || values.count == 0 { return nil }
    return object.flatMap { values.subject(equalTo: $0) }
  }

  // MARK: Observing

  /// Observes until the token is passed to `removeObserver(_:)`.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - obj: The object of the notifications, or `nil` for any. It is not retained.
  ///   - queue: The queue to call the block on, before the post returns, or `nil` for the posting
  ///     thread.
  ///   - file: The caller's file, for ``description``.
  ///   - line: The caller's line.
  ///   - block: Called for each notification.
  /// - Returns: A token for `removeObserver(_:)`. Its release does not end the observation.
  public func addObserver(
    forName name: NSNotification.Name?, object obj: Any?, queue: OperationQueue?,
    file: StaticString = #fileID, line: UInt = #line,
    using block: @escaping @Sendable (Notification) -> Void
  ) -> any NSObjectProtocol {
    let (sender, instance) = (Sender(obj), Notification.subject(obj))
    let request = ObservationRequest(file: file, line: line)
    guard let queue else {
      let body = ObserverBody<PostedNotification> { $0.withNotification(block) }
      let registration = register(request, body, of: name, sender, instance)
      return ObserverToken(registration, name: name, sender: sender)
    }
    let own = OwnRegistration()
    let body = ObserverBody<PostedNotification> { posted in
      // This path uses little stack if the poster is on the queue, since the observer may post
      // again.
      guard QueuedCall.isMadeAtOnce(on: queue) else {
        return QueuedCall.make(on: queue) {
          // An observer that is removed meanwhile is not called.
          if own.isActive { posted.withNotification(block) }
        }
      }
      if own.isActive { posted.withNotification(block) }
    }
    let registration = register(request, body, of: name, sender, instance)
    own.set(registration)
    return ObserverToken(registration, name: name, sender: sender)
  }

  /// Adds an observer without the caller's file and line.
  ///
  /// Ordinary calls use the other method. This one is for code that refers to Foundation's method
  /// by its name: a protocol requirement that both centers satisfy, or a method reference. In
  /// ``description``, such an observation has a line of this library instead of the caller's.
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
  /// The object is held weakly, and kept alive during each call.
  ///
  /// The method replaces a selector. On Apple platforms, `#selector(…)` does not compile here, so
  /// name the method by its type, as above.
  ///
  /// The method is called on the posting thread, so it must not be isolated to an actor, which
  /// Swift 6.3 does not diagnose if the method is named by its type. For an isolated observer, use
  /// `observe(_:owner:on:options:file:line:_:)`, which `CampanileFoundation` declares for
  /// this center too.
  public func addObserver<Target: AnyObject & Sendable>(
    _ observer: Target, selector method: @escaping @Sendable (Target) -> (Notification) -> Void,
    name aName: NSNotification.Name?, object anObject: Any?,
    file: StaticString = #fileID, line: UInt = #line
  ) {
    let body = ObserverBody<PostedNotification>(observer) { target, posted in
      posted.withNotification(method(target))
    }
    _ = register(
      .init(owner: observer, file: file, line: line), body, of: aName, Sender(anObject),
      Notification.subject(anObject))
  }

  private func register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<PostedNotification>,
    of name: Notification.Name?, _ sender: Sender, _ instance: AnyObject?
  ) -> Registration {
    guard case .value(let value) = sender else {
      return topics.register(
        request, body, of: name?.rawValue, about: instance.map { .some($0) })
    }
    // No post can be about a value that cannot be compared.
    guard let subject = values.makeSubject(for: value) else { return topics.keys.ended }
    return topics.register(
      request, body.keeping(subject), of: name?.rawValue, about: .some(subject))
  }

  // MARK: Removing

  /// Removes an observer: a token, or an object that observes with its methods.
  ///
  /// A post that has not reached the observer skips it. As in Foundation, the call does not wait:
  /// if a post on another thread has entered the observer, or is just entering it, the observer may
  /// still run after this returns, from its first line on. To wait for that, observe with
  /// `observe(_:on:options:file:line:_:)` of `CampanileFoundation`, and end the
  /// observation with the token's `cancelAndWait()`.
  ///
  /// For an object, the observations that it owns through `observe(_:owner:…)` of
  /// `CampanileFoundation` end too.
  ///
  /// For the token of another center, a token that was removed before, or an object that does not
  /// observe, the call has no effect.
  public func removeObserver(_ observer: Any) {
    removeObserver(observer, name: nil, object: nil)
  }

  /// Removes an observer that was added with this name and this object.
  ///
  /// For an object, the observations that it owns through `observe(_:owner:…)` of
  /// `CampanileFoundation` end too.
  ///
  /// - Parameters:
  ///   - observer: A token, or an object that observes with its methods.
  ///   - aName: The name. `nil` selects the observations of every name, so unwrap an optional
  ///     first.
  ///   - object: The object. `nil` selects the observations of every object, so unwrap an optional
  ///     first.
  /// - Complexity: O(*n*) in the number of observations of that object.
  public func removeObserver(
    _ observer: Any, name aName: NSNotification.Name?, object: Any?
  ) {
    if let token = observer as? ObserverToken {
      if token.matches(name: aName, object: object) {
        topics.keys.removeObserver(token.registration)
      }
      return
    }
    guard let owner = Notification.subject(observer) else { return }
    let subject = subject(object)
    // A value without a subject has no observers.
    if subject == nil && Notification.sender(object) != nil { return }
    topics.keys.removeObservers(ownedBy: owner, of: aName?.rawValue, about: subject)
  }
}

extension NotificationCenter: ObservableNotificationCenter {
  /// All notifications that are posted here, as a source.
  ///
  /// The source keeps the center alive, but its observations do not.
  public var allNotifications: NotificationSource { NotificationSource(keeping: self, hub: hub) }
}

extension NotificationCenter: Equatable {
  /// Whether both are the same center.
  public static func == (one: NotificationCenter, other: NotificationCenter) -> Bool {
    one === other
  }
}

extension NotificationCenter: Hashable {
  /// Hashes the center's identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension NotificationCenter: CustomStringConvertible {
  /// The live observations, one line each.
  ///
  /// Of more than 150 observations, those that are alike share a line with their number.
  public var description: String { topics.keys.inspection.listing }
}

extension NotificationCenter: CustomReflectable {
  /// Empty, so that a debugger shows the description alone.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
