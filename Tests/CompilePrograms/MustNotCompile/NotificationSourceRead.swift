// expect-error: unavailable: Read the notifications of a source by its values()
import CampanileFoundation
import Foundation

func read(_ center: NotificationCenter) async {
  for await notification in center.notifications(of: Notification.Name("Drawn")) {
    print(notification.name)
  }
}
