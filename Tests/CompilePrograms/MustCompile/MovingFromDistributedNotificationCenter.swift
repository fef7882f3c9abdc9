// The examples of the article of this name.
import Campanile
import CampanileRelay
import Foundation
import class CampanileNotificationCenter.DistributedCenter

typealias DistributedNotificationCenter = DistributedCenter

extension Notification.Name {
  static let trackChanged = Notification.Name("TrackChanged")
}

func play(_ title: String) {
  DistributedNotificationCenter.default().postNotificationName(
    .trackChanged, object: "player", userInfo: ["title": title], deliverImmediately: true)
}

final class Program {
  private let refusals = DistributedNotificationCenter.default().relay.events.observe { event in
    print(event)  // refused notification.TrackChanged: … userInfo["title"] is a Title …
  }
}

func follow() -> any NSObjectProtocol {
  DistributedNotificationCenter.default().addObserver(
    forName: .trackChanged, object: "player", queue: .main
  ) { notification in
    print(notification.userInfo?["title"] as? String ?? "")
  }
}

final class Screen: Sendable {
  func open() {
    DistributedNotificationCenter.default().addObserver(
      self, selector: Screen.trackChanged, name: .trackChanged, object: nil,
      suspensionBehavior: .hold)
  }

  func close() {
    DistributedNotificationCenter.default().removeObserver(
      self, name: .trackChanged, object: nil)
  }

  func trackChanged(_ notification: Notification) { print(notification.name.rawValue) }
}

func pause() { DistributedNotificationCenter.default().suspended = true }

func connect() async throws -> DistributedCenter {
  let center = DistributedCenter(Relay(.host("player"), name: "screen"))
  try await center.relay.flush()  // what others post from now on arrives
  return center
}

func notify(_ relay: Relay) {
  relay.post(raw: [], to: "com.example.changed")
}

func listen(_ relay: Relay) -> ObservationToken {
  relay.raw("com.example.changed").observe(on: .main) { _ in print("changed") }
}
