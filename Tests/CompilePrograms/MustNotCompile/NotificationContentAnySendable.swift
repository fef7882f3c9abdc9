// expect-error: 'subscript(_:as:)' is deprecated: Every value passes as 'any Sendable'
import Campanile
import CampanileFoundation
import Foundation

func observe(_ center: NotificationCenter) -> ObservationToken {
  center.observe(Notification.Name("Drawn")) { notification in
    print(notification["drawing", as: (any Sendable).self] == nil)
  }
}
