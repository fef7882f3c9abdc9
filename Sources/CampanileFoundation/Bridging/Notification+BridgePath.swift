package import Campanile
package import Foundation

extension Notification {
  /// The centers that bridges have carried this notification through.
  ///
  /// The user info contains their numbers, since user info is often a property list.
  package var bridgePath: [PathStep] {
    get {
      let numbers = userInfo?[NotificationBridge.pathKey] as? [Int64] ?? []
      return numbers.map { PathStep(number: UInt64(bitPattern: $0)) }
    }
    set {
      let numbers = newValue.map { Int64(bitPattern: $0.number) }
      userInfo = (userInfo ?? [:]).merging([NotificationBridge.pathKey: numbers]) { $1 }
    }
  }
}

extension NotificationCenter {
  /// The step through this center.
  ///
  /// The center keeps its hub from now on.
  package var pathStep: PathStep { NotificationHub.of(self).lasting().pathStep }
}
