// expect-error: 'object' is unavailable: The object is read as a type
import Campanile
import CampanileFoundation
import Foundation

final class Player: Sendable {}

func observe(_ center: NotificationCenter) -> ObservationToken {
  center.observe(Notification.Name("Drawn")) { notification in
    if let player = notification.object as? Player { print(player) }
  }
}
