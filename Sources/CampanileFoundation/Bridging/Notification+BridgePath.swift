package import Campanile
package import Foundation

extension Notification {
  /// The centers that bridges have carried this notification through.
  package var bridgePath: [PathStep] {
    get { userInfo?[NotificationBridge.pathKey] as? [PathStep] ?? [] }
    set { userInfo = (userInfo ?? [:]).merging([NotificationBridge.pathKey: newValue]) { $1 } }
  }
}
