import CampanileFoundation
import Foundation

/// A typed notification of ours.
struct Rung: TypedNotification {
  static let notificationName = Notification.Name("Rung")
  var number: Int

  init(number: Int) { self.number = number }
  init(from notification: Notification) throws {
    number = try notification.value(forKey: "number")
  }
  var userInfo: [AnyHashable: any Sendable] { ["number": number] }
}

/// A message of Foundation's typed interface.
struct Chimed: Foundation.NotificationCenter.AsyncMessage {
  typealias Subject = Bell
  static var name: Notification.Name { Notification.Name("Chimed") }
  var number: Int
}
