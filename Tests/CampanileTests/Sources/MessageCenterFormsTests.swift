import Testing

@testable import Campanile

@Suite("MessageCenter: every form of observing", .ownThread)
struct MessageCenterFormsTests {
  private let center = MessageCenter()
  private let heard = Recorder<String>()

  @Test("An observer that is told the subject gets it, or nil where there is none")
  func toldSubject() {
    let (player, screen) = (Player(), Screen())
    let subjects = Recorder<ObjectIdentifier?>()
    let token = center.messages(of: LevelChanged.self).withSubject.observe { posted in
      subjects.record(posted.subject.map { ObjectIdentifier($0) })
    }
    center.messages(of: LevelChanged.self).withSubject.observe(owner: screen) { screen, posted in
      let level = posted.message.level
      screen.heard.record(posted.subject === player ? level : -level)
    }
    center.post(LevelChanged(level: 1), about: player)
    center.post(LevelChanged(level: 2))
    withExtendedLifetime(token) {}
    #expect(subjects.values == [ObjectIdentifier(player), nil])
    #expect(screen.heard.values == [1, -2])
  }

  @Test("A5 E5 H5 Observers of any message hear each type, with the subject's identity")
  func anyMessage() {
    let player = Player()
    let screen = Screen()
    let token = center.anyMessage.observe { [heard] posted in
      heard.record("\(posted.message) \(posted.subject == ObjectIdentifier(player))")
    }
    center.anyMessage.observe(owner: screen) { screen, _ in screen.heard.record(1) }
    center.post(Tick(number: 1))
    center.post(LevelChanged(level: 2), about: player)
    withExtendedLifetime(token) {}
    #expect(heard.values == ["Tick(number: 1) false", "LevelChanged(level: 2) true"])
    #expect(screen.heard.values == [1, 1])
  }

  @Test("H6 Two message types of one name do not collide")
  func oneName() {
    enum First { struct Changed: MessageCenter.Message {} }
    enum Second { struct Changed: MessageCenter.Message {} }
    let tokens = [
      center.observe(First.Changed.self) { [heard] _ in heard.record("first") },
      center.observe(Second.Changed.self) { [heard] _ in heard.record("second") },
    ]
    center.post(First.Changed())
    #expect(heard.values == ["first"])
    center.post(Second.Changed())
    withExtendedLifetime(tokens) {}
    #expect(heard.values == ["first", "second"])
  }

  @Test("A message that is a class instance is delivered as that instance")
  func classMessage() {
    class Note: MessageCenter.Message, @unchecked Sendable {}
    final class HighNote: Note, @unchecked Sendable {}
    let note = HighNote()
    let identities = Recorder<ObjectIdentifier>()
    let token = center.observe(Note.self) { identities.record(ObjectIdentifier($0)) }
    let high = center.observe(HighNote.self) { identities.record(ObjectIdentifier($0)) }
    center.post(note as Note)
    withExtendedLifetime((token, high)) {}
    #expect(identities.values == [ObjectIdentifier(note)])
  }

  @Test("Posts of a generic message reach the observers of that very type")
  func genericMessage() {
    struct Box<Content: Sendable>: MessageCenter.Message { var content: Content }
    let token = center.observe(Box<Int>.self) { [heard] in heard.record("int \($0.content)") }
    let other = center.observe(Box<String>.self) { [heard] in heard.record("text \($0.content)") }
    center.post(Box(content: 1))
    center.post(Box(content: "a"))
    withExtendedLifetime((token, other)) {}
    #expect(heard.values == ["int 1", "text a"])
  }
}
