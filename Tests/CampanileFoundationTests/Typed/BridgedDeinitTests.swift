import Campanile
import CampanileFoundation
import Foundation
import Testing

@Suite("Messages about an object that is in its deinit, and what a bridge makes of them")
struct BridgedDeinitTests {
  private let center = NotificationCenter()
  private let messages = MessageCenter()

  @Test("K9 a message reaches observers wherever they run, told or not", arguments: Place.allCases)
  func messages(place: Place) async {
    for isAboutObject in [false, true] {
      let stage = Stage()
      stage.hold()
      for number in 0..<4 {
        let ending = Ending { [messages] in messages.post(Ended(number: number), about: $0) }
        if isAboutObject {
          observe(messages.messages(of: Ended.self, about: ending), on: stage, at: place)
        } else if number == 0 {
          observe(messages.messages(of: Ended.self), on: stage, at: place)
        }
        withExtendedLifetime(ending) {}
      }
      stage.letGo()
      let heard = await stage.heard.values(count: 8)
      let expected = (0..<4).flatMap { ["\($0)", "\($0) of none"] }
      #expect(heard.sorted() == expected, "\(isAboutObject)")
    }
  }

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

  @Test("K9 a bridge carries it to observers wherever they run", arguments: Place.allCases)
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
    #expect(all.count { $0.hasPrefix("1") } == count)
    #expect(all.count { $0.hasPrefix("2") } == count)
    withExtendedLifetime(bridge) {}
  }

  @Test("K9 many objects end at once, with observers on both sides of a bridge", arguments: [2, 8])
  func stress(width: Int) async {
    let stage = Stage()
    for place in Place.allCases { Form.typed.observe(center, on: stage, at: place) }
    let bridge = NotificationBridge(between: messages, and: center)
    bridge.carry(Ended.self)
    observe(messages.messages(of: Ended.self), on: stage, at: .queueOrdered)
    onThreads(width) { [center] thread in
      for number in 0..<50 {
        _ = Ending { center.post(Ended(number: thread * 50 + number), object: $0) }
      }
    }
    stage.letGo(isHeld: false)
    let count = width * 50 * (Place.allCases.count + 2)
    #expect(await stage.heard.values(count: count).count == count)
    withExtendedLifetime(bridge) {}
  }
}
