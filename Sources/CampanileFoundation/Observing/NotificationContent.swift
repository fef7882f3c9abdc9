import Campanile
import Foundation

/// A notification, and what was decoded from it where it was posted.
///
/// Sendable although a notification is not: nothing changes what is read, what leaves it is of a
/// Sendable type, and the notification as a whole goes only to code on the poster's thread, or to
/// code that the poster waits for.
package class NotificationContent: @unchecked Sendable {
  let name: Notification.Name
  let decoded: [ObjectIdentifier: Result<any Sendable, any Error>]
  // Set on the poster's thread: to nil when the post returns, if no observer was given more than what
  // was decoded, so that nobody else reads them.
  fileprivate(set) var sender: Any?
  fileprivate(set) var userInfo: [AnyHashable: Any]?

  init(
    _ notification: Notification, decoded: [ObjectIdentifier: Result<any Sendable, any Error>]
  ) {
    name = notification.name
    sender = notification.object
    userInfo = notification.userInfo
    self.decoded = decoded
  }

  /// The notification's object.
  var object: Any? { sender }

  func isAbout(_ object: AnyObject) -> Bool { Notification.subject(sender) === object }

  /// Calls `body` with the notification as a whole, on the poster's thread or while that waits.
  func withNotification(_ body: (Notification) -> Void) {
    body(Notification(name: name, object: object, userInfo: userInfo))
  }
}

/// A notification in a place where it need not be copied to be handed on: an observer may post
/// again, and each level of that takes a part of the stack.
private final class WholeNotification {
  let notification: Notification
  init(_ notification: Notification) { self.notification = notification }
}

/// The content of a notification that a center is posting.
///
/// The object may be in its deinit, and then nothing that outlives the post may hold it. Whether it
/// is, is decided once: when another thread reads the object, or when the post returns and somebody
/// still has the content. To ask sooner would cost each object a weak reference.
package final class NotificationInTransit: NotificationContent, @unchecked Sendable {
  private enum Fate {
    case undecided
    case kept
    /// The object was in its deinit. Only where it was is kept: its memory, which may be of a
    /// stack, cannot be reserved.
    case gone(ObjectIdentifier)
  }

  /// Protected by the lock.
  private struct State: @unchecked Sendable {
    /// Read on the poster's thread, and elsewhere if it is kept.
    var instance: AnyObject?
    var fate = Fate.undecided

    mutating func decide() {
      guard case .undecided = fate, let instance else { return }
      fate = isDeinitializing(instance) ? .gone(ObjectIdentifier(instance)) : .kept
    }
  }

  private let poster = ThreadMark.current
  private let state: Locked<State>
  /// What was posted, until the post returns; for the poster's thread, and while that waits.
  private var whole: WholeNotification?

  override init(
    _ notification: Notification, decoded: [ObjectIdentifier: Result<any Sendable, any Error>]
  ) {
    let instance = notification.subject
    state = Locked(State(instance: instance))
    whole = WholeNotification(notification)
    var rest = notification
    if instance != nil { rest.object = nil }
    super.init(rest, decoded: decoded)
  }

  override var object: Any? { super.object ?? instance }

  override func withNotification(_ body: (Notification) -> Void) {
    guard let whole else { return super.withNotification(body) }
    body(whole.notification)
  }

  private var instance: AnyObject? {
    let isPoster = poster.isCurrent
    return state.withLock { state in
      if isPoster { return state.instance }
      state.decide()
      if case .kept = state.fate { return state.instance }
      return nil
    }
  }

  override func isAbout(_ object: AnyObject) -> Bool {
    state.withLock { state in
      if case .gone(let id) = state.fate {
        // Another object that was given its place is not in its deinit.
        return id == ObjectIdentifier(object) && isDeinitializing(object)
      }
      return state.instance === object
    }
  }

  /// Ends the post, if anybody has kept the content; otherwise the content goes with the post.
  @inline(never)
  package static func settle(_ content: inout NotificationInTransit?, isRead: Bool) {
    if content != nil && !isKnownUniquelyReferenced(&content) { content?.settle(isRead: isRead) }
  }

  /// Ends the post: what is kept of the notification from now on may be kept for as long as anybody
  /// likes.
  ///
  /// - Parameter isRead: whether an observer was given more than what was decoded.
  private func settle(isRead: Bool) {
    whole = nil
    let released = state.withLock { state -> AnyObject? in
      state.decide()
      if isRead, case .kept = state.fate { return nil }
      return state.instance.take()
    }
    withExtendedLifetime(released) {}
    if !isRead {
      // Those who were given what was decoded do not look at it, and there are no others.
      userInfo = nil
      sender = nil
    }
  }
}
