import Campanile
import CampanileFoundation
import Foundation
import Testing

@Suite(
  "Messages about an object that is in its deinit, and what a bridge makes of them", .ownThread)
struct BridgedDeinitTests {
  private let center = NotificationCenter()
  private let messages = MessageCenter()

  /// Observes the messages as they are, and with their subjects.
  private func observe(
    _ source: MessageCenter.Messages<Ended>, on stage: Stage, at place: Place
  ) {
    let heard = stage.heard
    stage.observe(source, at: place) { heard.record("\($0.number)") }
    stage.observe(source.withSubject, at: place) { posted in
      let subject = posted.subject == nil ? " of none" : " of its subject"
      heard.record("\(posted.message.number)" + subject)
    }
  }

  @Test(
    "K9 a bridge carries it to observers wherever they run, told its subject or not",
    arguments: Place.allCases)
  func bridged(place: Place) async {
    let bridge = NotificationBridge(between: messages, and: center)
    bridge.carry(Ended.self)
    let stage = Stage()
    for form in Form.allCases { form.observe(center, on: stage, at: place) }
    observe(messages.messages(of: Ended.self), on: stage, at: place)
    stage.hold()
    do { _ = Ending { [messages] in messages.post(Ended(number: 1), about: $0) } }
    do { _ = Ending { [center] in center.post(Ended(number: 2), object: $0) } }
    stage.letGo()
    let count = Form.allCases.count + 2
    let all = await stage.heard.values(count: count * 2)
    for number in 1...2 { #expect(all.count { $0.hasPrefix("\(number)") } == count) }
    #expect(all.count { $0.hasSuffix(" of none") } == 2)
    withExtendedLifetime(bridge) {}
  }
}
