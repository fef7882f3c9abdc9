import Campanile
public import Foundation

/// A notification, and what was decoded from it where it was posted.
///
/// Sendable although a notification is not: nothing changes what is read, what leaves it is of a
/// Sendable type, and the notification as a whole goes only to code on the poster's thread, or to
/// code that the poster waits for.
@usableFromInline
package class NotificationContent: @unchecked Sendable {
  private let notification: Notification
  fileprivate let decoded: [ObjectIdentifier: Result<any Sendable, any Error>]

  init(
    _ notification: Notification, decoded: [ObjectIdentifier: Result<any Sendable, any Error>] = [:]
  ) {
    self.notification = notification
    self.decoded = decoded
  }

  /// The content of a notification that is being posted, on the thread that posts.
  ///
  /// Who posts calls `settle(isRead:)` when the post has returned.
  ///
  /// - Parameters:
  ///   - instance: What the notification is about, if that is an instance.
  ///   - isRead: whether observers may be given more than what was decoded.
  static func make(
    _ notification: consuming Notification, about instance: AnyObject?,
    decoded: [ObjectIdentifier: Result<any Sendable, any Error>], isRead: Bool
  ) -> NotificationContent {
    let isDying = instance.map { isDeinitializing($0) } ?? false
    if isRead && !isDying { return NotificationContent(notification, decoded: decoded) }
    return TransientContent(notification, decoded: decoded, dying: isDying ? instance : nil)
  }

  final var name: Notification.Name { notification.name }
  var object: Any? { notification.object }
  var userInfo: [AnyHashable: Any]? { notification.userInfo }

  func isAbout(_ object: AnyObject) -> Bool { notification.subject === object }

  /// What was decoded for `codec`, or `nil` if nothing was tried.
  final func decoded(
    for codec: ObjectIdentifier
  ) -> Result<any Sendable, any Error>? { decoded[codec] }

  /// Calls `body` with the notification as a whole, on the poster's thread or while that waits.
  ///
  /// It is not copied for that: an observer may post again, and each level takes a part of the
  /// stack.
  @usableFromInline
  package func withNotification(_ body: (Notification) -> Void) { body(notification) }

  /// Ends the post: what is kept from now on may be kept for as long as anybody likes.
  ///
  /// - Parameter isRead: whether an observer was given more than what was decoded.
  package func settle(isRead: Bool) {}
}

/// The content of a notification of which something goes when the post returns: an object in its
/// deinit, or all that nobody has asked for.
private final class TransientContent: NotificationContent, @unchecked Sendable {
  private let poster = ThreadMark.current
  /// Which object is in its deinit.
  ///
  /// Only where it was is kept: its memory, which may be of a stack, cannot be reserved.
  private let dying: ObjectIdentifier?
  // Taken on the poster's thread when the post returns. An object in its deinit is read on that
  // thread alone. All else goes only if nobody reads it.
  private var sender: Any?
  private var info: [AnyHashable: Any]?

  init(
    _ notification: Notification, decoded: [ObjectIdentifier: Result<any Sendable, any Error>],
    dying: AnyObject?
  ) {
    self.dying = dying.map { ObjectIdentifier($0) }
    sender = notification.object
    info = notification.userInfo
    super.init(Notification(name: notification.name), decoded: decoded)
  }

  override var object: Any? { dying == nil || poster.isCurrent ? sender : nil }
  override var userInfo: [AnyHashable: Any]? { info }

  override func isAbout(_ object: AnyObject) -> Bool {
    // Another object that was given its place is not in its deinit.
    if let dying { return dying == ObjectIdentifier(object) && isDeinitializing(object) }
    return Notification.subject(sender) === object
  }

  override package func withNotification(_ body: (Notification) -> Void) {
    body(Notification(name: name, object: sender, userInfo: info))
  }

  override func settle(isRead: Bool) {
    if !isRead || dying != nil { sender = nil }
    if !isRead { info = nil }
  }
}
