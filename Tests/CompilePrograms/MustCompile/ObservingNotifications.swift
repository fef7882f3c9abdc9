// The examples of the guide of this name.
// not-with-default-isolation: the classes here are used from every thread.
import Campanile
import CampanileFoundation
import Foundation

extension Notification.Name {
  static let trackChanged = Notification.Name("TrackChanged")
  static let levelChanged = Notification.Name("LevelChanged")
}

final class Player: Sendable {}

final class Meter: Sendable {
  func show(_ level: Float) { print(level) }
}

@MainActor
final class TypedScreen {
  var title = ""
}

final class Log {
  private var token: ObservationToken?

  func start(_ center: NotificationCenter) {
    token = center.observe(.trackChanged) { print($0.name.rawValue) }
  }
}

func follow(_ player: Player, _ meter: Meter, _ center: NotificationCenter) {
  center.observe(.levelChanged, object: player, owner: meter, on: .mainQueue) {
    meter, notification in
    meter.show(notification["level"] ?? 0)
  }
}

func stop(_ meter: Meter, _ player: Player, _ center: NotificationCenter) {
  center.removeObservers(ownedBy: meter, of: .levelChanged, object: player)
  center.removeObservers(ownedBy: meter, of: .levelChanged)
  center.removeObservers(ownedBy: meter)
}

func read(_ center: NotificationCenter) async {
  for await notification in center.notifications(of: .trackChanged).values(buffering: .newest(8)) {
    print(notification["title"] ?? "")
  }
}

struct TrackChanged: TypedNotification {
  static let notificationName = Notification.Name.trackChanged
  var title: String

  init(title: String) { self.title = title }

  init(from notification: Notification) throws {
    title = try notification.value(forKey: "title")
  }

  var userInfo: [AnyHashable: any Sendable] { ["title": title] }
}

@MainActor
func show(_ screen: TypedScreen, _ center: NotificationCenter) {
  center.observe(TrackChanged.self, owner: screen, on: .main) { screen, message in
    screen.title = message.title
  }
  center.post(TrackChanged(title: "Aria"))
}

extension NotificationDescriptor where Value == Float {
  static let level = NotificationDescriptor(.levelChanged) { notification in
    try notification.value(forKey: "level")
  }
}

func showLevel(_ meter: Meter, _ center: NotificationCenter) {
  center.observe(.level, owner: meter, on: .mainQueue) { meter, level in meter.show(level) }
}

struct Paused: MessageCenter.Message, TypedNotification {
  static let notificationName = Notification.Name("Paused")
  init() {}
  init(from notification: Notification) {}
  var userInfo: [AnyHashable: any Sendable] { [:] }
}

func connect(_ messages: MessageCenter) -> NotificationBridge {
  let bridge = NotificationBridge(between: messages, and: .default)
  bridge.carry(Paused.self)
  return bridge
}
