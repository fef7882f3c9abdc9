// The examples of the guide of this name.
import Campanile
import CampanileFoundation
import Foundation

nonisolated extension Notification.Name {
  static let trackChanged = Notification.Name("TrackChanged")
  static let levelChanged = Notification.Name("LevelChanged")
}

final class Player: Sendable {}

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

nonisolated final class Meter: Sendable {
  func show(_ level: Float) { print(level) }
}

func follow(_ player: Player, _ meter: Meter, _ center: NotificationCenter) {
  center.notifications(of: .levelChanged, object: player).observe(owner: meter, on: .queue(.main)) {
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
  center.notifications(of: TrackChanged.self).observe(owner: screen, on: .main) {
    screen, message in
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
  center.notifications(of: .level).observe(owner: meter, on: .queue(.main)) { meter, level in
    meter.show(level)
  }
}

final class Journal {
  private let tokens: [ObservationToken]

  init(_ center: NotificationCenter, _ levels: Broadcaster<Float>) {
    let sources: [Signal<Float>] = [
      center.notifications(of: .level).filter { $0 > 0 },
      center.notifications(of: .levelChanged).compactMap { $0["peak"] },
      levels.signal,
    ]
    tokens = sources.map { source in source.observe { print($0) } }
  }
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
