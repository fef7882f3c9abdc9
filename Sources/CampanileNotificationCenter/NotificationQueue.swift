import CampanileFoundation
public import Foundation

/// Foundation's notification queue, for ``NotificationCenter``.
///
/// A file that imports the class by name uses it instead of Foundation's, and needs no other
/// change:
///
/// ```swift
/// import Foundation
/// import class CampanileNotificationCenter.NotificationCenter
/// import class CampanileNotificationCenter.NotificationQueue
///
/// NotificationQueue.default.enqueue(
///   Notification(name: .trackChanged), postingStyle: .asap, coalesceMask: .onName, forModes: nil)
/// ```
///
/// ## Behavior
///
/// A queue posts on the thread that enqueues, which must run its run loop:
///
/// - Notifications with the style `.asap` are posted in the run loop's next turn in one of their
///   modes, in the order in which they were enqueued.
/// - Notifications with the style `.whenIdle` are posted in a turn in which no `.asap` notification
///   is due.
/// - For these two styles, the mode `.common` includes the default mode. On Apple platforms it also
///   includes the modes in which an application tracks events or runs a modal panel. On Linux,
///   Foundation's queue never posts a notification with the mode `.common` alone.
/// - Notifications that an observer enqueues are posted in a later turn.
/// - Task-local values of the code that enqueues are not carried to observers.
///
/// Enqueuing removes waiting notifications that coalesce with the new one, and appends the new one.
/// Objects are compared by identity, and values by equality. Notifications are found by name and
/// object, so the cost does not depend on the number of waiting notifications.
///
/// An object that is in its `deinit` when it is enqueued cannot be kept, so the notification is
/// posted without an object. Foundation's queue stops the program in this case.
///
/// A released queue still posts waiting notifications. Like Foundation's, a queue is for one
/// thread.
///
/// The first waiting notification adds a timer to the run loop, which stays until the thread ends,
/// so `run()` does not return for lack of sources.
///
/// If an observer runs the run loop inside a turn, waiting notifications of the same modes are
/// posted after the observer has returned. But if a notification of other modes is due in that run
/// loop, all that are due are posted there, in order, as Foundation's queue always does.
open class NotificationQueue: NSObject {
  /// When to post.
  public typealias PostingStyle = Foundation.NotificationQueue.PostingStyle
  /// Which notifications coalesce.
  public typealias NotificationCoalescing = Foundation.NotificationQueue.NotificationCoalescing

  private static let key = "CampanileNotificationCenter.NotificationQueue"

  private let waiting: WaitingNotifications

  /// The queue of the current thread, which posts to the default center.
  open class var `default`: NotificationQueue {
    let dictionary = Thread.current.threadDictionary
    if let queue = dictionary[key] as? NotificationQueue { return queue }
    let queue = NotificationQueue(notificationCenter: .default)
    dictionary[key] = queue
    return queue
  }

  /// Creates a queue that posts to a center.
  public init(notificationCenter: NotificationCenter) {
    waiting = WaitingNotifications(notificationCenter)
  }

  /// Posts a notification in the default mode, and coalesces it by name and object.
  open func enqueue(_ notification: Notification, postingStyle: PostingStyle) {
    enqueue(
      notification, postingStyle: postingStyle, coalesceMask: [.onName, .onSender], forModes: nil)
  }

  /// Posts a notification.
  ///
  /// - Parameters:
  ///   - notification: The notification to post.
  ///   - postingStyle: When to post it. `.now` posts before this returns, but only if the run loop
  ///     is in one of the modes, or is not running. As with Foundation's queue, a run loop is never
  ///     in the mode `.common` itself, so `.now` has no effect for it while the run loop is running.
  ///   - coalesceMask: Which waiting notifications are removed: those with the same name, the same
  ///     object, or both the same. With an empty mask, none are removed.
  ///   - modes: The modes in which to post, by default the default mode.
  open func enqueue(
    _ notification: Notification, postingStyle: PostingStyle,
    coalesceMask: NotificationCoalescing, forModes modes: [RunLoop.Mode]?
  ) {
    let modes = modes ?? [.default]
    dequeueNotifications(matching: notification, coalesceMask: coalesceMask)
    guard postingStyle == .now else {
      return waiting.append(notification, whenIdle: postingStyle == .whenIdle, modes)
    }
    let mode = RunLoop.current.currentMode
    if mode.map({ modes.contains($0) }) ?? true { waiting.center.post(notification) }
  }

  /// Removes the waiting notifications that match.
  ///
  /// - Parameters:
  ///   - notification: The notification to compare with.
  ///   - coalesceMask: The properties that must be the same. With an empty mask, none matches.
  open func dequeueNotifications(
    matching notification: Notification, coalesceMask: NotificationCoalescing
  ) {
    waiting.remove(
      matching: notification, onName: coalesceMask.contains(.onName),
      onSender: coalesceMask.contains(.onSender))
  }
}
