// expect-error: type 'Drawing' does not conform to the 'Sendable' protocol
import Campanile
import CampanileFoundation
import Foundation

final class Drawing { var width = 0 }

func observe(_ center: NotificationCenter) -> ObservationToken {
  center.observe(Notification.Name("Drawn")) { notification in
    print(notification["drawing", as: Drawing.self] == nil)
  }
}
