public import Campanile
import CampanileFoundation
public import Foundation

extension NotificationCenter {
  /// Posts here what is posted to a Foundation center, until the token is released.
  ///
  /// ```swift
  /// self.token = NotificationCenter.default.forwardNotifications(
  ///   of: Process.didTerminateNotification)
  /// ```
  ///
  /// A notification is posted here on the thread that posts it there, before that post returns, as
  /// it is. What came from here, by ``forwardNotifications(of:to:file:line:)`` and along however
  /// many centers, does not come back, also not where it is posted anew with the user info that it
  /// came with. On Linux, where the name is `nil`, Foundation stops the program if a message of its
  /// own typed interface is posted to its center.
  ///
  /// - Parameters:
  ///   - name: The name, or `nil` for all names.
  ///   - center: The Foundation center; its default one unless said.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  public func forwardNotifications(
    of name: Notification.Name?, from center: Foundation.NotificationCenter = .default,
    file: StaticString = #fileID, line: UInt = #line
  ) -> ObservationToken {
    center.observe(name, file: file, line: line) { [weak self, weak center] posted in
      guard let self, let center else { return }
      let notification = posted.notification
      let path = notification.bridgePath
      if path.contains(PathStep(self)) { return }
      ThreadMark.carry(along: path + [PathStep(center)], to: self) {
        self.post(notification)
      }
    }
  }

  /// Posts to a Foundation center what is posted here, until the token is released.
  ///
  /// As ``forwardNotifications(of:from:file:line:)``, the other way. A forwarded notification has
  /// one entry more in its user info, under `NotificationBridge.pathKey`.
  public func forwardNotifications(
    of name: Notification.Name?, to center: Foundation.NotificationCenter,
    file: StaticString = #fileID, line: UInt = #line
  ) -> ObservationToken {
    let body = ObserverBody<PostedNotification> { [weak self, weak center] posted in
      guard let self, let center else { return }
      let transit = ThreadMark.path(to: self)
      // Posted anew by hand, a notification says itself where it has been.
      let path = transit.isEmpty ? posted.notification.bridgePath : transit
      if path.contains(PathStep(center)) { return }
      var notification = posted.notification
      notification.bridgePath = path + [PathStep(self)]
      center.post(notification)
    }
    return ObservationToken(
      topics.register(
        .inPlace(file: file, line: line), body, of: name?.rawValue, about: .none, once: false))
  }
}
