// The examples in the documentation comments of the module of this name.
import Campanile
import CampanileNotificationCenter
import CampanileRelay
import Foundation
import class CampanileNotificationCenter.NotificationCenter
import class CampanileNotificationCenter.NotificationQueue

extension Notification.Name {
  static let trackChanged = Notification.Name("TrackChanged")
}

func observe() {
  let token = NotificationCenter.default.addObserver(
    forName: .trackChanged, object: nil, queue: .main
  ) { notification in
    print(notification.userInfo ?? [:])
  }
  NotificationCenter.default.post(name: .trackChanged, object: nil)
  NotificationCenter.default.removeObserver(token)
}

final class Screen: Sendable {
  func trackChanged(_ notification: Notification) { print(notification.name.rawValue) }
}

func observe(_ screen: Screen, _ center: NotificationCenter) {
  center.addObserver(screen, selector: Screen.trackChanged, name: .trackChanged, object: nil)
}

func postLater() {
  NotificationQueue.default.enqueue(
    Notification(name: .trackChanged), postingStyle: .asap, coalesceMask: .onName, forModes: nil)
}

final class Program {
  private var token: ObservationToken?

  func start() {
    self.token = NotificationCenter.default.forwardNotifications(
      of: Process.didTerminateNotification)
  }
}

func distribute(_ screen: Screen) {
  let center = DistributedCenter(Relay(.host("player")))
  let token = center.addObserver(forName: .trackChanged, object: nil, queue: nil) { notification in
    print(notification.object ?? "", notification.userInfo ?? [:])
  }
  center.postNotificationName(.trackChanged, object: "screen", userInfo: ["title": "Aria"])
  center.addObserver(
    screen, selector: Screen.trackChanged, name: .trackChanged, object: nil,
    suspensionBehavior: .hold)
  center.removeObserver(token)
}
