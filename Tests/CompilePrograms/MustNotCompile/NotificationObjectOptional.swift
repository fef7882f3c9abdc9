// expect-error: 8:10: 'notifications(of:object:)' is unavailable: Unwrap the object first; leave out 'object:' to observe whatever the object is
import CampanileFoundation
import Foundation

final class Player: Sendable {}

func observe(_ center: NotificationCenter, _ player: Player?, _ log: Player) {
  center.notifications(of: Notification.Name("Drawn"), object: player).observe(owner: log) { _, _ in
  }
}
