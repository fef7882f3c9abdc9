// A module that declares the names itself: whole imports beside them are not ambiguous.
import Campanile
import CampanileFoundation
import CampanileNotificationCenter
import Foundation

typealias NotificationCenter = CampanileNotificationCenter.NotificationCenter
typealias NotificationQueue = CampanileNotificationCenter.NotificationQueue

extension Notification.Name {
  static let trackChanged = Notification.Name("TrackChanged")
}

func play(_ center: NotificationCenter = .default, _ queue: NotificationQueue = .default) {
  center.forwardNotifications(of: nil).cancel()
  queue.enqueue(Notification(name: .trackChanged), postingStyle: .asap)
}
