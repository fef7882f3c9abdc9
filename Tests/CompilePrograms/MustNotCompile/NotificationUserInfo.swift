// expect-error: 'userInfo' is unavailable: User info is read by key, as a type
import Campanile
import CampanileFoundation
import Foundation

func observe(_ center: NotificationCenter) -> ObservationToken {
  center.observe(Notification.Name("Drawn")) { notification in
    print(notification.userInfo?["title"] ?? "")
  }
}
