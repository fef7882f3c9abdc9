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
final class Screen {
  var title = ""

  func follow(_ player: Player, _ center: NotificationCenter) {
    center.notifications(of: .trackChanged, object: player).observe(owner: self, on: .main) {
      screen, notification in
      screen.title = notification["title"] ?? ""
    }
  }
}

nonisolated final class Log: Sendable {
  func follow(_ center: NotificationCenter) {
    center.observe(.trackChanged, owner: self) { $0.trackChanged($1) }
  }

  func stop(_ center: NotificationCenter) {
    center.removeObservers(ownedBy: self, of: .trackChanged)
  }

  func trackChanged(_ notification: PostedNotification) { print(notification.name.rawValue) }
}

func read(_ player: Player, _ center: NotificationCenter) async {
  let changes = center.notifications(of: .trackChanged, object: player)
  for await notification in changes.values(buffering: .newest(16)) {
    print(notification["title"] ?? "")
  }
}

func showTitles(_ screen: Screen, _ center: NotificationCenter) {
  center.notifications(of: .trackChanged).map { $0["title"] ?? "" }
    .observe(owner: screen, on: .main) { screen, title in screen.title = title }
}

func followOnQueue(_ log: Log, _ center: NotificationCenter, _ writing: OperationQueue) {
  center.observe(.trackChanged, owner: log, on: .operationQueue(writing)) { log, notification in
    log.trackChanged(notification)
  }
}

func postLater(_ posting: PostingQueue, _ player: Player, _ center: NotificationCenter) {
  posting.enqueue(LevelChanged(level: 0.5), object: player, to: center, .whenIdle)
}

func followLikeGY(_ log: Log, _ player: Player, _ queue: DispatchQueue) {
  let center = NotificationCenter.default
  center.notifications(of: .trackChanged, object: player).observe(owner: log, on: .queue(queue)) {
    log, notification in
    log.trackChanged(notification)
  }
  center.removeObservers(ownedBy: log, of: .trackChanged, object: player)
}

final class Holder {
  private var token: ObservationToken?

  func follow(_ log: Log, _ center: NotificationCenter, _ queue: DispatchQueue) {
    token = center.observe(.trackChanged) { print($0.name.rawValue) }
    let registration = center.observe(.trackChanged, owner: log, on: .queue(queue)) {
      $0.trackChanged($1)
    }
    registration.cancel()
  }
}

extension NotificationDescriptor where Value == Float {
  static let level = NotificationDescriptor(.levelChanged) { notification in
    try notification.value(forKey: "level")
  }
}

final class LevelHolder {
  private var token: ObservationToken?

  func follow(_ player: Player, _ center: NotificationCenter) {
    token = center.notifications(of: .level, object: player).observe(on: .queue(.main)) {
      print($0)
    }
  }
}

struct LevelChanged: TypedNotification {
  static let notificationName = Notification.Name.levelChanged
  var level: Float

  init(level: Float) { self.level = level }

  init(from notification: Notification) throws {
    level = try notification.value(forKey: "level")
  }

  var userInfo: [AnyHashable: any Sendable] { ["level": level] }
}

func post(_ center: NotificationCenter, _ player: Player) {
  center.post(LevelChanged(level: 0.4), object: player)
}

func followOnThisThread(_ log: Log, _ center: NotificationCenter) {
  center.observe(.trackChanged, owner: log, on: .thread(.current)) { $0.trackChanged($1) }
}
