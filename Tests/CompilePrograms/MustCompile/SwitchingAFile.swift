// The examples of the guide of this name.
import Campanile
import CampanileFoundation
import CampanileTesting
import Foundation
import XCTest

import class CampanileNotificationCenter.NotificationCenter
import class CampanileNotificationCenter.NotificationQueue

typealias NotificationCenter = CampanileNotificationCenter.NotificationCenter
typealias NotificationQueue = CampanileNotificationCenter.NotificationQueue

extension Notification.Name {
  nonisolated static let trackChanged = Notification.Name("TrackChanged")
}

final class Player: Sendable {}

extension NotificationCenter {
  func postTrackChanged() { post(name: .trackChanged, object: nil) }
}

final class Log {
  private var observer: (any NSObjectProtocol)?

  func start(_ player: Player) {
    observer = NotificationCenter.default.addObserver(
      forName: .trackChanged, object: player, queue: nil
    ) { notification in
      print(notification.name.rawValue)
    }
  }

  func stop() {
    if let observer { NotificationCenter.default.removeObserver(observer) }
  }
}

@MainActor
final class Title {
  var text = ""

  init() {
    NotificationCenter.default.observe(.trackChanged, owner: self, on: .main) {
      title, notification in
      title.text = notification["title"] ?? ""
    }
  }
}

func read() async {
  for await notification in NotificationCenter.default.notifications(of: .trackChanged).values() {
    print(notification["title"] ?? "")
  }
}

func follow(_ center: NotificationCenter, _ writing: OperationQueue) {
  _ = center.addObserver(forName: .trackChanged, object: nil, queue: writing) { notification in
    print(notification.name.rawValue)
  }
  center.post(name: .trackChanged, object: nil)  // the block has run when this returns
}

final class Screen: Sendable {
  func open() {
    NotificationCenter.default.addObserver(
      self, selector: Screen.trackChanged, name: .trackChanged, object: nil)
  }

  func close() {
    NotificationCenter.default.removeObserver(self, name: .trackChanged, object: nil)
  }

  func trackChanged(_ notification: Notification) { print(notification.name.rawValue) }
}

func post(_ player: Player) {
  NotificationCenter.default.post(
    name: .trackChanged, object: player, userInfo: ["title": "Aria"])
  NotificationCenter.default.post(Notification(name: .trackChanged, object: player))
}

func postLater(_ player: Player) {
  let notification = Notification(name: .trackChanged, object: player)
  NotificationQueue.default.enqueue(notification, postingStyle: .asap)
  NotificationQueue.default.enqueue(
    notification, postingStyle: .whenIdle, coalesceMask: [.onName, .onSender], forModes: [.default])
  NotificationQueue.default.dequeueNotifications(matching: notification, coalesceMask: .onName)
}

final class Program {
  private let forwarding = NotificationCenter.default.forwardNotifications(
    of: UserDefaults.didChangeNotification)
}

nonisolated final class PlayerTests: XCTestCase {
  func testPlaying() {
    let forwarding = NotificationCenter.default.forwardNotifications(
      of: .trackChanged, to: Foundation.NotificationCenter.default)
    let changed = expectation(forNotification: .trackChanged, object: nil)
    NotificationCenter.default.post(name: .trackChanged, object: nil)
    wait(for: [changed], timeout: 10)
    withExtendedLifetime(forwarding) {}
  }
}

func expectTitle() async throws {
  let changes = Recorder(observing: NotificationCenter.default.notifications(of: .trackChanged))
  NotificationCenter.default.post(
    name: .trackChanged, object: nil, userInfo: ["title": "Aria"])
  let notification = try await changes.next()
  assert(notification["title"] == "Aria")
}
