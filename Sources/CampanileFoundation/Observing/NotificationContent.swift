import Campanile
public import Foundation
import Synchronization

/// A notification, and the values that were decoded from it on the posting thread.
///
/// It is `Sendable` although a notification is not, for three reasons:
///
/// - What other threads read does not change.
/// - Values that leave it are of `Sendable` types.
/// - The whole notification is passed only to code on the posting thread, or to code that the
///   poster waits for.
@usableFromInline
package class NotificationContent: @unchecked Sendable {
  /// The notification that was posted, or only its name.
  @usableFromInline final let notification: Notification
  /// Whether ``notification`` is all that was posted.
  @usableFromInline final let isWhole: Bool
  fileprivate let decoded: [ObjectIdentifier: DecodedValue]?

  init(
    _ notification: consuming Notification,
    decoded: [ObjectIdentifier: DecodedValue]? = nil, isWhole: Bool = true
  ) {
    self.notification = notification
    self.decoded = decoded
    self.isWhole = isWhole
  }

  /// The content of a notification that is being posted.
  ///
  /// Called on the posting thread.
  ///
  /// The poster calls `settle()` when the immediate observers have been called.
  ///
  /// - Parameters:
  ///   - instance: The object of the notification, if that is an instance of a class.
  ///   - feed: Knows whether observers may read more than the decoded values. They may if it is
  ///     `nil`.
  static func make(
    _ notification: consuming Notification, about instance: AnyObject?,
    decoded: [ObjectIdentifier: DecodedValue]?, by feed: NotificationHub.Feed?
  ) -> NotificationContent {
    let isDying = instance.map { isDeinitializing($0) } ?? false
    if feed?.mayBeRead ?? true && !isDying {
      return NotificationContent(notification, decoded: decoded)
    }
    return TransientContent(
      notification, decoded: decoded, by: feed, dying: isDying ? instance : nil)
  }

  /// The content of a notification of which nothing is decoded.
  ///
  /// The notification is made in its place, which takes the fewest steps.
  init(
    name: Notification.Name, object: Any?, userInfo: [AnyHashable: Any]?
  ) {
    notification = Notification(name: name, object: object, userInfo: userInfo)
    decoded = nil
    isWhole = true
  }

  final var name: Notification.Name { notification.name }
  var object: Any? { notification.object }
  var userInfo: [AnyHashable: Any]? { notification.userInfo }

  func isAbout(_ object: AnyObject) -> Bool { notification.subject === object }

  /// The result of decoding with `codec`, or `nil` if that codec did not run.
  final func decoded(
    for codec: ObjectIdentifier
  ) -> Result<any Sendable, any Error>? { decoded?[codec]?.result }

  /// Calls `body` with the whole notification, on the posting thread or while that thread waits.
  ///
  /// The notification is not copied: posts of observers nest, and each level would need stack space
  /// for a copy. A whole notification is passed on without a call of a method.
  @inlinable @inline(__always)
  package final func withNotification(_ body: (Notification) -> Void) {
    if isWhole { body(notification) } else { withRest(body) }
  }

  /// Calls `body` with what is not only in ``notification``.
  @usableFromInline
  func withRest(_ body: (Notification) -> Void) { body(notification) }

  /// Ends the post.
  ///
  /// After this call, the content may be kept for any time.
  @usableFromInline
  package func settle() {}
}

/// The content of a notification of which a part is released once the immediate observers have been
/// called.
///
/// That is an object in its deinit, or everything that no observer reads.
private final class TransientContent: NotificationContent, @unchecked Sendable {
  private let poster = ThreadMark.current
  private let feed: NotificationHub.Feed?
  /// The identity of an object in its deinit.
  ///
  /// Only its address is kept. The memory cannot be reserved, since it may be on a stack.
  private let dying: ObjectIdentifier?
  /// Whether the immediate observers have been called.
  private let isSettled = Atomic<Bool>(false)
  // Cleared on the posting thread at that time. An object in its deinit is read on that
  // thread only. Everything else is cleared only if no observer reads it.
  private var sender: Any?
  private var info: [AnyHashable: Any]?

  init(
    _ notification: Notification, decoded: [ObjectIdentifier: DecodedValue]?,
    by feed: NotificationHub.Feed?, dying: AnyObject?
  ) {
    self.feed = feed
    self.dying = dying.map { ObjectIdentifier($0) }
    sender = notification.object
    info = notification.userInfo
    super.init(Notification(name: notification.name), decoded: decoded, isWhole: false)
  }

  override var object: Any? { dying == nil || poster.isCurrent ? sender : nil }
  override var userInfo: [AnyHashable: Any]? { info }

  override func isAbout(_ object: AnyObject) -> Bool {
    // A later object gets the address only after the post, and may be in its own deinit then.
    if let dying {
      return dying == ObjectIdentifier(object) && !isSettled.load(ordering: .acquiring)
    }
    return Notification.subject(sender) === object
  }

  override func withRest(_ body: (Notification) -> Void) {
    body(Notification(name: name, object: sender, userInfo: info))
  }

  override func settle() {
    isSettled.store(true, ordering: .releasing)
    // A reader that was registered meanwhile set the flag first, so the flag is read again.
    let isRead = feed?.mayBeRead ?? true
    if !isRead || dying != nil { sender = nil }
    if !isRead { info = nil }
  }
}
