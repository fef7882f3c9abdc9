public import Campanile
import CampanileFoundation
public import Foundation

extension NotificationCenter {
  /// Posts the notifications of a Foundation center here too, until the token is released.
  ///
  /// ```swift
  /// self.token = NotificationCenter.default.forwardNotifications(
  ///   of: Process.didTerminateNotification)
  /// ```
  ///
  /// A notification is posted here unchanged, on the thread that posts it there, before that post
  /// returns.
  ///
  /// A notification that was posted here first and forwarded by
  /// ``forwardNotifications(of:to:file:line:)`` is not posted here again, along any number of
  /// centers, even if an observer posts it again with its user info.
  ///
  /// On Linux, messages of Foundation's typed interface are not forwarded by their name, and with
  /// `nil` as the name, Foundation stops the program if such a message is posted to its center.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - center: The Foundation center, by default its default center.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  public func forwardNotifications(
    of name: Notification.Name?, from center: Foundation.NotificationCenter = .default,
    file: StaticString = #fileID, line: UInt = #line
  ) -> ObservationToken {
    let (origin, destination) = (center.pathStep, hub.pathStep)
    return center.observe(name, file: file, line: line) { [weak self] posted in
      guard let self else { return }
      let notification = posted.notification
      let path = notification.bridgePath
      if path.contains(destination) { return }
      self.post(notification, along: path + [origin])
    }
  }

  /// Posts the notifications of this center to a Foundation center too, until the token is
  /// released.
  ///
  /// This is the reverse of ``forwardNotifications(of:from:file:line:)``. A forwarded notification
  /// has one more entry in its user info, under `NotificationBridge.pathKey`.
  public func forwardNotifications(
    of name: Notification.Name?, to center: Foundation.NotificationCenter,
    file: StaticString = #fileID, line: UInt = #line
  ) -> ObservationToken {
    let (origin, destination) = (hub.pathStep, center.pathStep)
    let body = ObserverBody<PostedNotification>(inPlace: { [weak center] posted, post in
      guard let center else { return }
      // If code has posted the notification again, its user info names the centers that it came
      // through.
      let path = post.path.isEmpty ? posted.notification.bridgePath : post.path
      if path.contains(destination) { return }
      var notification = posted.notification
      notification.bridgePath = path + [origin]
      center.post(notification)
    })
    return ObservationToken(
      topics.register(
        .init(file: file, line: line), body, of: name?.rawValue, about: .none))
  }
}
