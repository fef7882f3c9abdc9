import Testing

@testable import Campanile

/// What registries, indexes and mailboxes keep, and for how long.
@Suite("What is kept, and until when", .eachKindOfSubject, .ownThread)
struct KeptStateTests {
  @Test("K16 Nothing is kept for an owner whose registrations have ended")
  func owners() {
    let source = Broadcaster<Int>()
    let screen = Screen()
    for count in [1, 2, 100] {
      let registrations = (0..<count).map { _ in source.observe(owner: screen) { _, _ in } }
      #expect(source.registry.withState { $0.owners.count } == 1)
      for registration in registrations.reversed() { registration.cancel() }
      #expect(source.registry.withState { $0.owners.isEmpty })
    }
  }

  @Test("K16 A registration that follows an end does not make the post forget what waits for it")
  func registeredAfterAnEnd() {
    let (source, life) = (Broadcaster<Int>(), LiveCount())
    let (victim, late) = (Slot<ObservationToken>(), Slot<ObservationToken>())
    let first = source.observe { _ in
      victim.value?.cancel()
      // There is room for it: nothing is replaced, and no reservation is read.
      late.set(source.observe { _ in })
    }
    victim.set(source.observe { [cargo = Tracked(life)] _ in cargo.touch() })
    let third = source.observe { _ in }
    source.send(1)
    #expect(life.current == 0)
    #expect(source.observerCount == 3)
    withExtendedLifetime((first, third)) {}
  }

  @Test(
    "K16 A job that waits for a bounded observer which has ended keeps neither it nor its source")
  func endedBounded() throws {
    let leaks = LeakTracker()
    let queue = TestQueue()
    queue.hold()
    defer { queue.letGo() }
    func observe() {
      let source = Broadcaster<Int>()
      leaks.track(source.list)
      leaks.track(source.registry)
      let token = source.observe(on: queue.delivery.buffered(.newest(1))) {
        [probe = leaks.makeProbe("closure")] _ in probe.touch()
      }
      source.send(1)
      token.cancel()
    }
    observe()
    try leaks.expectGone()
  }

  @Test("K16 A lifetime does not keep a registration that ended before it was added")
  func addedLate() throws {
    let leaks = LeakTracker()
    let storage = EndActions()
    func observe() {
      let source = Broadcaster<Int>()
      leaks.track(source.list)
      let token = source.observe { _ in }
      token.cancel()
      storage.add(token.registration)
    }
    observe()
    try leaks.expectGone()
    storage.end()
  }

  @Test(
    "K9 K16 The list of a subject that nobody observes any more is kept for the post that walks it")
  func listOfASubject() {
    let center = MessageCenter()
    let player = Player()
    let inside = Gate()
    let slot = Slot<[ObservationToken]>()
    // Two of them, which stand in a list.
    slot.set([
      center.messages(of: LevelChanged.self, about: player).observe { _ in inside.pass() },
      center.messages(of: LevelChanged.self, about: player).observe { _ in },
    ])
    weak let list = slot.value.flatMap { Self.list(of: $0[0].registration) }
    #expect(list != nil)
    let poster = onThread { center.post(LevelChanged(level: 0), about: player) }
    inside.waitUntilReached()
    slot.set(nil)
    #expect(center.observerCount == 0)
    #expect(list != nil)
    inside.open()
    poster()
    #expect(list == nil)
  }

  @Test("K9 K16 A subject that was observed on queues alone is forgotten with its last observer")
  func subjectOnQueues() {
    let center = MessageCenter()
    let player = Player()
    let queues = [TestQueue("one"), TestQueue("two")]
    let topic = center.registry.withState { _, held in
      center.topics.makeList(of: LevelChanged.self, center.registry, held)
    }
    let tokens = queues.map { queue in
      center.messages(of: LevelChanged.self, about: player).observe(on: queue.delivery) { _ in }
    }
    tokens[0].cancel()
    #expect(topic.hasSubjects)
    tokens[1].cancel()
    #expect(!topic.hasSubjects)
  }

  private static func list(of registration: Registration) -> ObserverList? {
    registration.isKept ? registration.list : nil
  }

  @Test("K6 What is posted by the last delivery that a job makes is delivered by the next job")
  func afterTheLimit() {
    let source = Broadcaster<Int>()
    let target = ManualTarget()
    let heard = Recorder<Int>()
    let token = source.observe(on: .target(target).ordered) { [source] number in
      heard.record(number)
      if number == 1_024 { source.send(1_025) }
    }
    for number in 1...1_024 { source.send(number) }
    target.runJobs()
    #expect(heard.values == Array(1...1_025))
    #expect(target.enqueuedCount == 2)
    withExtendedLifetime(token) {}
  }

  @Test("K16 Of two objects that are stored at once the second is released")
  func second() {
    let life = LiveCount()
    let place = LazyReference<Tracked>()
    let first = place.storeIfNil(Tracked(life))
    #expect(place.storeIfNil(Tracked(life)) === first)
    #expect(life.current == 1)
  }
}
