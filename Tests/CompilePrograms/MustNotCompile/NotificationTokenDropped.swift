// expect-error: is unused
import CampanileFoundation
import Foundation

func observe(_ center: NotificationCenter) {
  center.observe(Notification.Name("Rung")) { print($0.name) }
}
