// The examples in the documentation comments of the module of this name.
import Campanile
import CampanileFoundation
import Foundation

nonisolated extension Notification.Name {
  static let trackChanged = Notification.Name("TrackChanged")
  static let levelChanged = Notification.Name("LevelChanged")
}

final class Player: Sendable {}

struct LevelChanged: MessageCenter.Message, TypedNotification {
  typealias Subject = Player
  static let notificationName = Notification.Name.levelChanged
  var level: Float

  init(level: Float) { self.level = level }
  init(from notification: Notification) throws { level = try notification.value(forKey: "level") }
  var userInfo: [AnyHashable: any Sendable] { ["level": level] }
}

struct TrackChanged: TypedNotification {
  static let notificationName = Notification.Name("TrackChanged")
  var title: String

  init(title: String) { self.title = title }

  init(from notification: Notification) throws {
    title = try notification.value(forKey: "title")
  }

  var userInfo: [AnyHashable: any Sendable] { ["title": title] }
}

extension NotificationDescriptor where Value == Float {
  static let level = NotificationDescriptor(.levelChanged) { notification in
    try notification.value(forKey: "level")
  }
}

@MainActor
final class Screen {
  var title = ""
}

@MainActor
final class MainMeter {
  func show(_ level: Float) {}
}

nonisolated final class Meter: Sendable {
  func show(_ level: Float) {}
}

enum Bridging {
  struct TrackChanged: MessageCenter.Message, TypedNotification {
    static let notificationName = Notification.Name.trackChanged
    init() {}
    init(from notification: Notification) {}
    var userInfo: [AnyHashable: any Sendable] { [:] }
  }

  final class Program {
    private var bridge: NotificationBridge?

    func connect(_ messages: MessageCenter) {
      let bridge: NotificationBridge
      bridge = NotificationBridge(between: messages, and: .default)
      bridge.carry(TrackChanged.self)  // both ways
      bridge.carry(LevelChanged.self, .toNotifications)
      self.bridge = bridge
    }
  }
}

enum Deliveries {
  struct TrackChanged: MessageCenter.Message { var title: String }

  nonisolated final class Log: Sendable {
    func write(_ title: String) { print(title) }

    func follow(_ center: MessageCenter, _ decoding: OperationQueue) {
      center.observe(TrackChanged.self, owner: self, on: .operationQueue(decoding)) {
        $0.write($1.title)
      }
      center.observe(TrackChanged.self, owner: self, on: .runLoop(.main)) { $0.write($1.title) }
      center.observe(TrackChanged.self, owner: self, on: .thread(.current)) { $0.write($1.title) }
    }
  }
}

@MainActor
func follow(_ center: NotificationCenter, _ screen: Screen, _ meter: MainMeter, _ player: Player) {
  center.notifications(of: TrackChanged.self).observe(owner: screen, on: .main) {
    $0.title = $1.title
  }
  center.post(TrackChanged(title: "Aria"), object: player)

  center.notifications(of: .level).observe(owner: meter, on: .main) { meter, level in
    meter.show(level)
  }
}

@MainActor
func read(_ center: NotificationCenter, _ screen: Screen) async {
  center.observe(.trackChanged, owner: screen, on: .main) { screen, notification in
    screen.title = notification["title"] ?? ""
  }
  center.notifications(of: .trackChanged).observe(owner: screen, on: .main) {
    screen, notification in
    screen.title = notification["title"] ?? ""
  }
  for await notification in center.notifications(of: .trackChanged).values(buffering: .newest(8)) {
    print(notification.name.rawValue)
  }
}

func show(_ center: NotificationCenter, _ meter: Meter) {
  center.observe(.levelChanged, owner: meter, on: .queue(.main)) { meter, notification in
    meter.show(notification["level", as: Float.self] ?? 0)
  }
}

func remove(_ screen: Screen, _ player: Player, _ center: NotificationCenter) {
  center.removeObservers(ownedBy: screen)
  center.removeObservers(ownedBy: screen, of: .trackChanged)
  center.removeObservers(ownedBy: screen, of: .trackChanged, object: player)
}

func postLater(_ player: Player, _ center: MessageCenter) {
  let posting = PostingQueue(on: .queue(.main))
  posting.enqueue(LevelChanged(level: 0.4), about: player, to: center, .whenIdle)
  posting.enqueue(Notification(name: .trackChanged), to: .default, .asap, coalescing: .type)
}
