// expect-error: main actor-isolated property 'title' can not be mutated from a Sendable closure
import Campanile
import CampanileFoundation
import Foundation

@MainActor
final class Screen {
  var title = ""

  func follow(_ center: NotificationCenter) {
    center.observe(Notification.Name("Rung"), owner: self, on: .queue(.main)) {
      screen, notification in
      screen.title = notification.name.rawValue
    }
  }
}
