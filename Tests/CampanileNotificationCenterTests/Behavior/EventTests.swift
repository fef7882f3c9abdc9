import CampanileFoundation
import CampanileTesting
import Foundation
import TestSupport
import Testing

import Campanile
import class CampanileNotificationCenter.NotificationCenter

@Suite("What happens at a notification center", .ownThread)
struct EventTests {
  @Test("K15 posts and calls are reported, also those that nobody hears, with the name")
  func replacement() throws {
    let center = NotificationCenter()
    let name = Notification.Name("TrackChanged")
    let events = Recorder(observing: center.events)
    center.post(name: name, object: nil)
    let token = center.addObserver(forName: name, object: nil, queue: nil) { _ in }
    let other = center.notifications(of: name).observe { _ in }
    center.post(name: name, object: nil)
    #expect(
      events.values.map(\.kind) == [
        .posted, .postReturned, .registered, .registered, .posted, .called, .returned, .called,
        .returned, .postReturned,
      ])
    #expect(
      events.values.filter { $0.kind == .posted }.map(\.name) == ["TrackChanged", "TrackChanged"])
    #expect(center.allNotifications.inspection.name == "NotificationCenter")
    #expect(center.allNotifications.registrations.count == 2)
    events.stop()
    center.post(name: name, object: nil)
    #expect(events.count == 10)
    center.removeObserver(token)
    withExtendedLifetime(other) {}
  }
}
