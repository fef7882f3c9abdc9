import Campanile
import CampanileFoundation
public import CampanileRelay
import Dispatch
public import Foundation

/// A notification center for the processes of a bus, with the interface of Apple's
/// `DistributedNotificationCenter`.
///
/// ```swift
/// let center = DistributedCenter(Relay(.host("player")))
/// let token = center.addObserver(
///   forName: .trackChanged, object: nil, queue: nil
/// ) { notification in
///   print(notification.object ?? "", notification.userInfo ?? [:])
/// }
/// center.postNotificationName(.trackChanged, object: "screen", userInfo: ["title": "Aria"])
/// ```
///
/// A notification has a name, a string as its object, and a property list as its user info. It
/// arrives at each center on the bus, and at the center that posts it.
///
/// ## Behavior
///
/// - **Thread.** Observers are called on the main queue, and the post does not wait for them. The
///   main thread must run its run loop, or `dispatchMain()`. An observer with another operation
///   queue is called there, and neither the post nor the main queue waits for it. The observers of
///   one queue are called one at a time, even if the queue runs many operations at once, so an
///   observer must not wait for another observer of its queue. If the queue is suspended, the posts
///   that are being delivered still arrive. Because observers are called later, they do not see
///   task-local values of the post.
/// - **Order.** Observers are called in the order in which they were added. The posts of one thread
///   through one center arrive everywhere in the order in which they were made. No center receives
///   an answer before its question.
/// - **Delivery.** A notification is delivered at most once. An observer that is added between the post
///   and the delivery on the main queue may receive it. `relay.events` reports losses, and
///   notifications that cannot be decoded or sent.
/// - **User info.** Each process, the posting one included, receives a copy of the property list.
///   Property lists contain strings, numbers, dates, data, arrays, and dictionaries with strings as
///   keys. If a post contains a value of another kind, no observer receives the post, and the relay
///   reports it as refused, with the key. The same holds for a notification whose encoding is
///   longer than a megabyte, or whose name is longer than 64 KB, where special characters count as
///   escaped, with three bytes or more. A notification may have a million values, nested up to 500
///   levels deep, where a value counts as often as it is referred to, and one more for every 16
///   bytes of a string or of data. The entry under `NotificationBridge.pathKey` is not posted.
/// - **Lifetime.** Several centers can share a relay. A center keeps its relay, and the observations
///   end with the center.
///
/// A center receives the posts that other processes make after `relay.flush()` has returned, if it
/// was called after the creation of the center. All methods are safe to call from any thread and
/// from inside an observer.
public final class DistributedCenter: Sendable {
  private static let shared = DistributedCenter(Relay(.host()))
  /// The relay that carries the notifications.
  ///
  /// It can be used for other messages too.
  public let relay: Relay
  private let observers = DistributedObservers()
  private let line: DistributedLine

  /// Creates a center that receives the notifications on the bus of a relay.
  public init(_ relay: Relay) {
    self.relay = relay
    line = DistributedLine.of(relay)
    line.centers.add(observers)
  }

  deinit {
    line.centers.remove(observers)
    observers.finish()
  }

  /// The center that is shared in a program, on the default bus of the host.
  public class func `default`() -> DistributedCenter { shared }

  // MARK: Posting

  /// Posts a notification.
  ///
  /// While a center is suspended, its observers receive it as their ``SuspensionBehavior`` says.
  public func post(
    name aName: NSNotification.Name, object anObject: String?,
    userInfo aUserInfo: [AnyHashable: Any]? = nil
  ) {
    postNotificationName(aName, object: anObject, userInfo: aUserInfo)
  }

  /// Posts a notification.
  ///
  /// With `deliverImmediately`, observers of suspended centers receive it at once.
  public func postNotificationName(
    _ name: NSNotification.Name, object: String?, userInfo: [AnyHashable: Any]? = nil,
    deliverImmediately: Bool
  ) {
    postNotificationName(
      name, object: object, userInfo: userInfo,
      options: deliverImmediately ? .deliverImmediately : [])
  }

  /// Posts a notification.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - object: The object of the notification, or `nil`.
  ///   - userInfo: A property list; see ``DistributedCenter``.
  ///   - options: Whether observers of suspended centers receive it at once.
  public func postNotificationName(
    _ name: NSNotification.Name, object: String?, userInfo: [AnyHashable: Any]? = nil,
    options: Options = []
  ) {
    let subject = DistributedPost.subject(of: name)
    do {
      let bytes = try DistributedPost.encode(name.rawValue, object, userInfo, options)
      if let reason = RelayLimits.objection("A notification", to: bytes.count, named: subject) {
        throw DistributedPostError(reason)
      }
      let post = line.centers.areObserved(subject) ? try DistributedPost(bytes) : nil
      // Delivered here before it is sent, since an answer can arrive as soon as other processes have the
      // question. It is queued before an observer here can answer.
      relay.post(raw: bytes, to: subject) { if let post { line.centers.deliver(post) } }
    } catch {
      relay.reportRefused(subject, "\(error)")
    }
  }

  // MARK: Observing

  /// Observes until the token is passed to `removeObserver(_:)`.
  ///
  /// While the center is suspended, the behavior of the observer is
  /// ``SuspensionBehavior/coalesce``.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - object: The object of the notifications, or `nil` for any.
  ///   - queue: The queue to call the block on, or `nil` for the main queue.
  ///   - file: The caller's file, for ``description``.
  ///   - line: The caller's line.
  ///   - block: Called for each notification.
  /// - Returns: A token for `removeObserver(_:)`. Its release does not end the observation.
  public func addObserver(
    forName name: NSNotification.Name?, object: String?, queue: OperationQueue?,
    file: StaticString = #fileID, line: UInt = #line,
    using block: @escaping @Sendable (Notification) -> Void
  ) -> any NSObjectProtocol {
    let observer = DistributedObserver(.coalesce, on: queue, block)
    let registration = observers.add(
      observer, .init(file: file, line: line), ObserverBody { $0.append(observer) }, name, object
    )
    return ObserverToken(registration, name: name, sender: Sender(object))
  }

  /// Observes with a method of an object, until the object ends or is removed.
  ///
  /// ```swift
  /// center.addObserver(
  ///   screen, selector: Screen.trackChanged, name: .trackChanged, object: nil,
  ///   suspensionBehavior: .hold)
  /// ```
  ///
  /// The object is held weakly, and kept alive during each call.
  ///
  /// The method replaces a selector, and is called on the main queue. It must not be isolated to an
  /// actor, which Swift 6.3 does not diagnose if the method is named by its type.
  ///
  /// - Parameters:
  ///   - observer: The object.
  ///   - method: Its method.
  ///   - name: The name, or `nil` for all names.
  ///   - object: The object of the notifications, or `nil` for any.
  ///   - suspensionBehavior: Which notifications the observer receives that arrive while the center
  ///     is suspended.
  ///   - file: The caller's file, for ``description``.
  ///   - line: The caller's line.
  public func addObserver<Target: AnyObject & Sendable>(
    _ observer: Target, selector method: @escaping @Sendable (Target) -> (Notification) -> Void,
    name: NSNotification.Name?, object: String?,
    suspensionBehavior: SuspensionBehavior = .coalesce,
    file: StaticString = #fileID, line: UInt = #line
  ) {
    let called = DistributedObserver(suspensionBehavior, on: nil) { [weak observer] notification in
      if let observer { method(observer)(notification) }
    }
    _ = observers.add(
      called, .init(owner: observer, file: file, line: line),
      ObserverBody(observer) { _, audience in audience.append(called) }, name, object)
  }

  /// Removes an observer: a token, or an object that observes with its methods.
  ///
  /// Held notifications are not delivered to it. The observer may still be running on another
  /// thread when this returns. For an object that does not observe here, this has no effect.
  public func removeObserver(_ observer: Any) {
    removeObserver(observer, name: nil, object: nil)
  }

  /// Removes an observer that was added with this name and this object.
  ///
  /// - Parameters:
  ///   - observer: A token, or an object that observes with its methods.
  ///   - aName: The name. `nil` selects the observations of every name, so unwrap an optional
  ///     first.
  ///   - object: The object. `nil` selects the observations of every object, so unwrap an optional
  ///     first.
  /// - Complexity: O(*n*) in the number of observations of that object.
  public func removeObserver(
    _ observer: Any, name aName: NSNotification.Name?, object: String?
  ) {
    if let token = observer as? ObserverToken {
      if token.matches(name: aName, object: object) { observers.remove(token.registration) }
    } else if let owner = Notification.subject(observer) {
      observers.remove(ownedBy: owner, aName, object)
    }
  }

  // MARK: Suspending

  /// Whether notifications are held back from observers, as their ``SuspensionBehavior`` says.
  ///
  /// A new value applies to each notification whose delivery has not begun. After a change to
  /// `false`, held notifications are delivered first, followed by those that arrive later. If the
  /// center is suspended again during that, all held notifications are still delivered.
  public var suspended: Bool {
    get { observers.isSuspended }
    set { observers.setSuspended(newValue) }
  }
}

extension DistributedCenter {
  /// Which notifications an observer receives of those that arrive while the center is suspended.
  public enum SuspensionBehavior: UInt, Sendable {
    /// None, except with an observer that delivers immediately.
    case drop = 1
    /// The last one of each name and object, once the center is no longer suspended, or once it
    /// holds a thousand calls.
    case coalesce = 2
    /// All, once the center is no longer suspended, or once it holds a thousand calls.
    case hold = 3
    /// Each one at once.
    ///
    /// When a notification arrives for such an observer, all held notifications are delivered
    /// first. Then that notification is delivered to all its observers, as if the center were not
    /// suspended.
    case deliverImmediately = 4
  }

  /// How a notification is posted.
  public struct Options: OptionSet, Sendable {
    /// The raw bits.
    public let rawValue: UInt

    /// Creates options from raw bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// Delivers to all observers at once, including those of suspended centers.
    ///
    /// Held notifications remain held.
    public static let deliverImmediately = Options(rawValue: 1 << 0)
    /// Has no effect.
    ///
    /// A bus reaches the user's processes whose bus folder is the same, whatever their session.
    public static let postToAllSessions = Options(rawValue: 1 << 1)
  }
}

extension DistributedCenter: CustomStringConvertible {
  /// The live observations, one line each.
  ///
  /// Of more than 150 observations, those that are alike share a line with their number.
  public var description: String { observers.listing(under: "DistributedCenter") }
}
