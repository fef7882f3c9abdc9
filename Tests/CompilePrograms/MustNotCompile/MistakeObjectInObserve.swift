// expect-error: 9:12: 'observe(_:object:owner:on:_:)' is unavailable: Name the object first: notifications(of: name, object: object).observe; or leave it out
// Foundation's way to say that the object is whichever it is.
import CampanileFoundation
import Foundation

final class Log: Sendable {
  func begin(_ center: NotificationCenter) {
    let name = Notification.Name("Drawn")
    center.observe(name, object: nil, owner: self) { log, drawn in
      print(log, drawn.name)
    }
  }
}
