// expect-error: 'notifications(of:object:)' is unavailable: Leave out 'object:' to observe whatever the object is
import CampanileFoundation
import Foundation

final class Log: Sendable {
  func observe(_ center: NotificationCenter) {
    center.notifications(of: Notification.Name("Drawn"), object: nil).observe(owner: self) {
      log, notification in
      print(log, notification.name)
    }
  }
}
