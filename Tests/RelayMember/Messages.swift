import Campanile
import CampanileFoundation
import CampanileRelay
import Foundation

/// A number of a sender; what else there is to say makes it longer.
struct Count: RelayedMessage, TypedNotification {
  static let relaySubject: RelaySubject<Self> = "count.\(\.sender)"
  static let notificationName = Notification.Name("count")
  var sender: String
  var number: Int
  var padding = ""

  init(sender: String, number: Int, padding: String) {
    (self.sender, self.number, self.padding) = (sender, number, padding)
  }

  // Its own bytes: what is tested here is how messages travel.
  func relayPayload() -> [UInt8] {
    Array("\(sender) \(number) \(padding)".utf8)
  }

  init(relayPayload: [UInt8], version: Int) throws {
    let parts = String(decoding: relayPayload, as: UTF8.self).split(separator: " ")
    guard parts.count >= 2, let number = Int(parts[1]) else { throw CocoaError(.coderInvalidValue) }
    (sender, self.number) = (String(parts[0]), number)
  }

  init(from notification: Notification) throws {
    guard let sender = notification.userInfo?["sender"] as? String,
      let number = notification.userInfo?["number"] as? Int
    else { throw CocoaError(.coderInvalidValue) }
    (self.sender, self.number) = (sender, number)
  }

  var userInfo: [AnyHashable: any Sendable] { ["sender": sender, "number": number] }
}

/// A number that travels under another name: numbers take turns.
struct Odd: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "odd.\(\.count.sender)"
  var count: Count

  init(_ count: Count) { self.count = count }
  func relayPayload() -> [UInt8] { count.relayPayload() }
  init(relayPayload: [UInt8], version: Int) throws {
    count = try Count(relayPayload: relayPayload, version: version)
  }
}
