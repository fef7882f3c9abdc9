// expect-error: argument type 'Player?' expected to be an instance of a class
import CampanileFoundation
import Foundation

final class Player: Sendable {}

func observe(_ center: NotificationCenter, _ player: Player?, _ log: Player) {
  center.notifications(of: Notification.Name("Drawn"), object: player).observe(owner: log) { _, _ in
  }
}
