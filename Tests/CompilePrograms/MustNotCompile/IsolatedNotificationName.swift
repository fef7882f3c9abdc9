// isolated to the main actor by default
// expect-error: main actor-isolated static property 'trackChanged' can not be referenced from a nonisolated context
import CampanileFoundation
import Foundation

extension Notification.Name { static let trackChanged = Notification.Name("trackChanged") }

nonisolated func post(_ center: NotificationCenter) {
  center.post(name: .trackChanged, object: nil)
}
