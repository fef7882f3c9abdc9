import Foundation

extension Notification {
  /// The centers that this notification has come through, where bridges posted it.
  package var bridgePath: [ObjectIdentifier] {
    get { userInfo?[NotificationBridge.pathKey] as? [ObjectIdentifier] ?? [] }
    set { userInfo = (userInfo ?? [:]).merging([NotificationBridge.pathKey: newValue]) { $1 } }
  }
}
