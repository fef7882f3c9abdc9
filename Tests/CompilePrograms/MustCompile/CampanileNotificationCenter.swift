// The example of the overview of the module of this name.
import Foundation
import class CampanileNotificationCenter.NotificationCenter
import class CampanileNotificationCenter.NotificationQueue

extension Notification.Name {
  static let trackChanged = Notification.Name("TrackChanged")
}

func follow() -> any NSObjectProtocol {
  NotificationCenter.default.addObserver(
    forName: .trackChanged, object: nil, queue: .main
  ) { notification in
    print(notification.userInfo?["title"] as? String ?? "")
  }
}

func play() {
  NotificationCenter.default.post(
    name: .trackChanged, object: nil, userInfo: ["title": "Aria"])
}
