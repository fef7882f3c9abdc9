import Testing

@testable import Campanile

@Suite("MessageCenter: every form of observing", .ownThread)
struct MessageCenterFormsTests {
  private let center = MessageCenter()
  private let heard = Recorder<String>()
  private let queue = TestQueue()

  @Test("An observer with a token hears what is posted")
  func token() {
    let token = center.observe(Tick.self) { [heard] in heard.record("\($0.number)") }
    center.post(Tick(number: 1))
    center.post(Tock())
    token.cancel()
    center.post(Tick(number: 2))
    #expect(heard.values == ["1"])
  }

  @Test("An observer with an owner is handed the owner")
  func owner() {
    let screen = Screen()
    let registration = center.observe(Tick.self, owner: screen) { $0.heard.record($1.number) }
    center.post(Tick(number: 1))
    #expect(registration.isActive)
    #expect(screen.heard.values == [1])
  }

  @Test("An observer about a subject hears of that subject alone")
  func subject() {
    let (one, other, screen) = (Player(), Player(), Screen())
    let token = center.messages(of: LevelChanged.self, about: one).observe { [heard] in
      heard.record("\($0.level)")
    }
    center.messages(of: LevelChanged.self, about: other).observe(owner: screen) {
      $0.heard.record($1.level)
    }
    center.post(LevelChanged(level: 1), about: one)
    center.post(LevelChanged(level: 2), about: other)
    center.post(LevelChanged(level: 3))
    withExtendedLifetime(token) {}
    #expect(heard.values == ["1"])
    #expect(screen.heard.values == [2])
  }

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

  @Test("An observer that is told the subject gets it on a queue too, kept alive on the way")
  func toldSubjectOnQueue() {
    let live = LiveCount()
    let subjects = Recorder<Bool>()
    final class Instrument: Sendable {
      let tracked: Tracked
      init(_ live: LiveCount) { tracked = Tracked(live) }
    }
    struct Tuned: MessageCenter.Message { typealias Subject = Instrument }
    let (token, buffered) = (
      center.messages(of: Tuned.self).withSubject.observe(on: queue.delivery) { posted in
        subjects.record(posted.subject != nil)
      },
      center.messages(of: Tuned.self).withSubject.observe(on: queue.delivery, buffering: .newest(2))
      { posted in
        subjects.record(posted.subject != nil)
      }
    )
    queue.hold()
    do {
      let instrument = Instrument(live)
      center.post(Tuned(), about: instrument)
    }
    #expect(live.current == 1)
    queue.letGo()
    queue.flush()
    withExtendedLifetime((token, buffered)) {}
    #expect(subjects.values == [true, true])
    #expect(live.current == 0)
  }

  @Test("Queue observers with a token, an owner, a subject and the subject told run on the queue")
  func queueForms() {
    let (player, screen) = (Player(), Screen())
    let places = Recorder<Bool>()
    let delivery = queue.delivery
    let tokens = [
      center.observe(LevelChanged.self, on: delivery) { [queue] _ in
        places.record(queue.isCurrent)
      },
      center.messages(of: LevelChanged.self, about: player).observe(on: delivery) { [queue] _ in
        places.record(queue.isCurrent)
      },
      center.messages(of: LevelChanged.self, about: player).withSubject.observe(on: delivery) {
        [queue] posted in
        places.record(queue.isCurrent && posted.subject === player)
      },
    ]
    center.observe(LevelChanged.self, owner: screen, on: delivery) { [queue] _, _ in
      places.record(queue.isCurrent)
    }
    center.messages(of: LevelChanged.self).withSubject.observe(owner: screen, on: delivery) {
      [queue] _, posted in
      places.record(queue.isCurrent && posted.subject === player)
    }
    center.post(LevelChanged(level: 1), about: player)
    queue.flush()
    withExtendedLifetime((tokens, screen)) {}
    #expect(places.values == [true, true, true, true, true])
  }

  @Test("Main observers are isolated to the main actor, in every form")
  func mainForms() async throws {
    let player = Player()
    let label = Label()
    let tokens = [
      center.observe(LevelChanged.self, on: .main) { [label] in label.text += "a\($0.level)" },
      center.messages(of: LevelChanged.self, about: player).observe(on: .main) { [label] in
        label.text += "b\($0.level)"
      },
      center.messages(of: LevelChanged.self).withSubject.observe(on: .main) { [label] posted in
        label.text += posted.subject === player ? "c" : "?"
      },
      center.observe(LevelChanged.self, on: .main.ordered) { [label] _ in label.text += "d" },
    ]
    center.observe(LevelChanged.self, owner: label, on: .main) { label, _ in label.text += "e" }
    center.messages(of: LevelChanged.self).withSubject.observe(owner: label, on: .main) {
      label, posted in
      label.text += posted.subject === player ? "f" : "?"
    }
    let main = center.observe(LevelChanged.self, on: .mainQueue) { [heard] _ in
      MainActor.assertIsolated()
      heard.record("main queue")
    }
    try await center.postAndWait(LevelChanged(level: 1), about: player)
    withExtendedLifetime((tokens, main)) {}
    #expect(await label.text == "a1b1cdef")
    #expect(heard.values == ["main queue"])
  }

  @Test("Actor observers are isolated to the actor, in every form")
  func actorForms() async throws {
    let player = Player()
    let statistics = Statistics()
    center.observe(LevelChanged.self, on: statistics) { $0.append($1.level) }
    center.messages(of: LevelChanged.self, about: player).observe(on: statistics) {
      $0.append($1.level * 10)
    }
    center.messages(of: LevelChanged.self).withSubject.observe(on: statistics) {
      statistics, posted in
      statistics.append(posted.subject === player ? posted.message.level * 100 : 0)
    }
    try await center.postAndWait(LevelChanged(level: 1), about: player)
    #expect(await statistics.numbers == [1, 10, 100])
  }

  @Test("Observers of any message hear each type, with the subject's identity")
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

  @Test("Any-message observers take a delivery and a buffer")
  func anyMessageForms() async throws {
    let inbox = Inbox<String>()
    let now = center.anyMessage.observe(on: .immediate) { [heard] _ in heard.record("now") }
    let queued = center.anyMessage.observe(on: queue.delivery, buffering: .newest(1)) { [heard] in
      heard.record("\($0.message)")
    }
    let async = center.anyMessage.observeAsync { inbox.record("\($0.message)") }
    queue.hold()
    center.post(Tick(number: 1))
    center.post(Tock())
    queue.letGo()
    queue.flush()
    #expect(await inbox.values(count: 2) == ["Tick(number: 1)", "Tock()"])
    withExtendedLifetime((now, queued, async)) {}
    #expect(heard.values == ["now", "now", "Tock()"])
    #expect(queued.registration.droppedCount == 1)
  }

  @Test("Any-message observers can be asked for once")
  func anyMessageOnce() {
    let token = center.anyMessage.observe(.once) { [heard] in heard.record("\($0.message)") }
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    #expect(heard.values == ["Tick(number: 1)"])
    #expect(!token.isActive)
  }

  @Test("Asynchronous observers with a token, an owner and a subject are called")
  func asyncForms() async throws {
    let (player, screen) = (Player(), Screen())
    let inbox = Inbox<Int>()
    let tokens = [
      center.messages(of: LevelChanged.self).observeAsync { inbox.record($0.level) },
      center.messages(of: LevelChanged.self, about: player).observeAsync { inbox.record($0.level) },
      center.messages(of: LevelChanged.self).observeAsync(execution: .concurrent) {
        inbox.record($0.level)
      },
    ]
    center.messages(of: LevelChanged.self).observeAsync(owner: screen) { $0.heard.record($1.level) }
    center.messages(of: LevelChanged.self, about: player).observeAsync(
      owner: screen, execution: .concurrent
    ) {
      $0.heard.record($1.level)
    }
    try await center.postAndWait(LevelChanged(level: 7), about: player)
    withExtendedLifetime(tokens) {}
    #expect(inbox.values == [7, 7, 7])
    #expect(screen.heard.values == [7, 7])
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

  @Test("A post that nobody hears does nothing")
  func nobody() async throws {
    center.post(Tick(number: 1))
    center.post(LevelChanged(level: 1), about: Player())
    try await center.postAndWait(Tick(number: 1))
    #expect(center.observerCount == 0)
  }

  @Test("The observations of a center end with it")
  func centerEnds() throws {
    let leaks = LeakTracker()
    var center: MessageCenter? = MessageCenter()
    let token = center?.observe(Tick.self) { [probe = leaks.makeProbe("closure")] _ in
      probe.touch()
    }
    let queued = center?.observe(Tick.self, on: queue.delivery) { [heard] _ in heard.record("?") }
    queue.hold()
    center?.post(Tick(number: 1))
    #expect(leaks.alive.count == 1)
    center = nil
    try leaks.expectGone()
    queue.letGo()
    queue.flush()
    #expect(token?.isActive == false)
    #expect(queued?.cancel() == .alreadyEnded)
    #expect(heard.values.isEmpty)
  }
}

@MainActor private final class Label {
  var text = ""
}
