// Row A12 of what the package replaces: on Linux, Foundation's center has blocks alone.
import Foundation

final class Screen: Sendable {
  func open(_ center: NotificationCenter) {
    center.addObserver(
      // expect-error: extra argument 'selector' in call
      // expect-error: missing argument for parameter 'using' in call
      // expect-error: cannot convert value of type 'Screen' to expected argument type
      // expect-error: cannot convert value of type 'Notification.Name'
      self, selector: Screen.trackChanged, name: Notification.Name("TrackChanged"), object: nil)
  }

  func trackChanged(_ notification: Notification) {}
}
