import CampanileFoundation
public import Foundation

/// Foundation's notification queue, for ``NotificationCenter``.
///
/// A file that imports the class by name uses it in place of Foundation's, and is otherwise
/// unchanged:
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
/// A queue posts on the thread that enqueues, which must run its run loop. What is to be posted as
/// soon as possible is posted in the run loop's next turn in one of its modes, in the order in
/// which it was enqueued. What can wait until the run loop is idle is posted in a turn in which
/// nothing is to be posted as soon as possible. What an observer enqueues comes in a later turn.
///
/// Enqueuing takes back what is waiting and coalesces with the new notification, which then stands
/// at the end. Objects are compared by identity, and values by equality. What is taken back is found
/// by its name and its object: the cost does not depend on how many others wait.
///
/// An object that is in its `deinit` when it is enqueued cannot be kept: what waits is posted without
/// an object. Foundation's queue stops the program there.
///
/// A queue that is released posts what is waiting all the same. As Foundation's, a queue is for one
/// thread.
///
/// The first notification that waits gives the run loop a source, which stays until the thread
/// ends: so `run()` does not return for want of sources. A run loop that an observer runs inside a
/// turn posts nothing that waits in the same modes until the observer has returned; Foundation's
/// does.
open class NotificationQueue: NSObject {
  /// When to post.
  public typealias PostingStyle = Foundation.NotificationQueue.PostingStyle
  /// What notifications share that are posted once.
  public typealias NotificationCoalescing = Foundation.NotificationQueue.NotificationCoalescing

  private static let key = "CampanileNotificationCenter.NotificationQueue"

  private let waiting: WaitingNotifications

  /// The thread's queue, which posts to the default center.
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

  /// Posts a notification in the default mode; it coalesces by name and object.
  open func enqueue(_ notification: Notification, postingStyle: PostingStyle) {
    enqueue(
      notification, postingStyle: postingStyle, coalesceMask: [.onName, .onSender], forModes: nil)
  }

  /// Posts a notification.
  ///
  /// - Parameters:
  ///   - notification: What to post.
  ///   - postingStyle: When to post it. To post now is to post before this returns, if the run loop
  ///     is in one of the modes, or is not running.
  ///   - coalesceMask: What is taken back: that of the same name, of the same object, or of both;
  ///     of neither, nothing is.
  ///   - modes: The modes in which to post; the default one unless said.
  open func enqueue(
    _ notification: Notification, postingStyle: PostingStyle,
    coalesceMask: NotificationCoalescing, forModes modes: [RunLoop.Mode]?
  ) {
    let modes = modes ?? [.default]
    dequeueNotifications(matching: notification, coalesceMask: coalesceMask)
    switch postingStyle {
    case .now:
      let mode = RunLoop.current.currentMode
      if mode.map({ modes.contains($0) }) ?? true { waiting.center.post(notification) }
    case .asap: waiting.append(notification, whenIdle: false, modes)
    case .whenIdle: waiting.append(notification, whenIdle: true, modes)
    #if canImport(Darwin)
      @unknown default: waiting.append(notification, whenIdle: false, modes)
    #endif
    }
  }

  /// Takes back what is waiting and matches.
  ///
  /// - Parameters:
  ///   - notification: What to compare with.
  ///   - coalesceMask: What must be the same; with nothing in it, nothing matches.
  open func dequeueNotifications(
    matching notification: Notification, coalesceMask: NotificationCoalescing
  ) {
    waiting.remove(
      matching: notification, onName: coalesceMask.contains(.onName),
      onSender: coalesceMask.contains(.onSender))
  }
}
