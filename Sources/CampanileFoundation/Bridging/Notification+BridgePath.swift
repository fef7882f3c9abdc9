package import Campanile
package import Foundation

extension Notification {
  /// The centers that this notification has come through, where bridges posted it.
  package var bridgePath: [PathStep] {
    get { userInfo?[NotificationBridge.pathKey] as? [PathStep] ?? [] }
    set { userInfo = (userInfo ?? [:]).merging([NotificationBridge.pathKey: newValue]) { $1 } }
  }
}
