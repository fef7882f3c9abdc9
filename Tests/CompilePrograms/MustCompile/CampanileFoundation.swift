// The example of the overview of the module of this name.
import Campanile
import CampanileFoundation
import Foundation

extension Notification.Name {
  static let trackChanged = Notification.Name("TrackChanged")
}

@MainActor
final class Screen {
  var title = ""

  init(_ center: NotificationCenter) {
    center.observe(.trackChanged, owner: self, on: .main) { screen, notification in
      screen.title = notification["title"] ?? ""
    }
  }
}
