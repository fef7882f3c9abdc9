// expect-error: 'subscript(_:)' is unavailable: User info is read as a type, without a cast
import Campanile
import CampanileFoundation
import Foundation

func observe(_ center: NotificationCenter) -> ObservationToken {
  center.observe(Notification.Name("Drawn")) { notification in
    if let title = notification["title"] as? String { print(title) }
  }
}
