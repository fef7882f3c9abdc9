import Campanile
import CampanileFoundation
import Foundation

final class Drawing { var width = 0 }
final class Player: Sendable {}
struct Rung: MessageCenter.Message {}

func carry(_ bridge: NotificationBridge) {
  // expect-error: requires that 'Rung' conform to 'TypedNotification'
  bridge.carry(Rung.self)
}

@MainActor final class Screen {
  var title = ""

  func follow(_ center: NotificationCenter) {
    center.observe(Notification.Name("Rung"), owner: self, on: .queue(.main)) {
      screen, notification in
      // expect-error: main actor-isolated property 'title' can not be mutated from a Sendable closure
      screen.title = notification.name.rawValue
    }
  }
}

func contents(_ center: NotificationCenter) -> ObservationToken {
  center.observe(Notification.Name("Drawn")) { notification in
    // expect-error: 'subscript(_:as:)' is deprecated: Every value passes as 'any Sendable'
    print(notification["drawing", as: (any Sendable).self] == nil)
    // expect-error: 'subscript(_:)' is unavailable: User info is read as a type, without a cast
    if let title = notification["title"] as? String { print(title) }
    // expect-error: type 'Drawing' does not conform to the 'Sendable' protocol
    print(notification["drawing", as: Drawing.self] == nil)
    // expect-error: 'object' is unavailable: The object is read as a type
    if let player = notification.object as? Player { print(player) }
    // expect-error: 'userInfo' is unavailable: User info is read by key, as a type
    print(notification.userInfo?["title"] ?? "")
  }
}

func objects(_ center: NotificationCenter, _ player: Player?, _ log: Player) {
  let name = Notification.Name("Drawn")
  // Foundation's way to say that the object is whichever it is.
  // expect-error: 'observe(_:object:owner:on:_:)' is unavailable: Name the object first: notifications(of: name, object: object).observe; or leave it out
  center.observe(name, object: nil, owner: log) { log, drawn in print(log, drawn.name) }
  // expect-error: 'notifications(of:object:)' is unavailable: Leave out 'object:' to observe whatever the object is
  center.notifications(of: name, object: nil).observe(owner: log) { _, _ in }
  // expect-error: 'notifications(of:object:)' is unavailable: Unwrap the object first; leave out 'object:' to observe whatever the object is
  center.notifications(of: name, object: player).observe(owner: log) { _, _ in }
  // expect-error: is unused
  center.observe(name) { print($0.name) }
}

func read(_ center: NotificationCenter) async {
  // expect-error: unavailable: Read the notifications of a source by its values()
  for await notification in center.notifications(of: Notification.Name("Drawn")) {
    print(notification.name)
  }
}
