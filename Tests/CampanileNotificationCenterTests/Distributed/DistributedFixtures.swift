import Campanile
import CampanileNotificationCenter
import CampanileRelay
import Foundation
import TestSupport

extension Notification.Name {
  static let track = Notification.Name("Track changed: 100 %.*>")
  static let level = Notification.Name("LevelChanged")
  static let end = Notification.Name("End")
}

/// A bus of a test's own.
struct Bus {
  private let transport = Relay.Transport.loopback("\(UInt64.random(in: 0 ... .max))")

  /// A center that receives what others post.
  func makeCenter(_ name: String = "center") async throws -> DistributedCenter {
    let center = DistributedCenter(Relay(transport, name: name))
    try await center.relay.flush()
    return center
  }

  func makeRelay() async throws -> Relay {
    let relay = Relay(transport, name: "relay")
    try await relay.flush()
    return relay
  }
}

/// The name, the object and the number of a notification.
func summary(_ notification: Notification) -> String {
  let number = notification.userInfo?["number"].map { " \($0)" } ?? ""
  return "\(notification.name.rawValue) \(notification.object ?? "-")\(number)"
}

extension DistributedCenter {
  /// Observes with a block that records.
  func record(
    _ name: Notification.Name?, _ object: String?, _ recorder: Recorder<String>
  ) {
    _ = addObserver(forName: name, object: object, queue: nil) { recorder.record(summary($0)) }
  }

  func post(_ name: Notification.Name, _ object: String?, _ number: Int) {
    post(name: name, object: object, userInfo: ["number": number])
  }
}

/// An object that observes with its methods.
final class DistributedScreen: Sendable {
  let name: String
  let heard: Recorder<String>

  init(_ name: String = "", _ heard: Recorder<String> = Recorder(timeout: patience)) {
    self.name = name
    self.heard = heard
  }

  func receive(_ notification: Notification) { heard.record(name + summary(notification)) }
}
