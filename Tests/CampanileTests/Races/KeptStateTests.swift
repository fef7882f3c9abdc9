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

  @Test("K16 A source that has gone leaves nothing behind, though the owners live")
  func goneSource() {
    let screen = Screen()
    let queue = TestQueue()
    weak var list: ObserverList?
    weak var registry: ObserverRegistry?
    func observe() {
      let source = Broadcaster<Int>()
      (list, registry) = (source.list, source.registry)
      for delivery in [Delivery.immediate, queue.delivery] {
        source.observe(owner: screen, on: delivery) { _, _ in }
      }
      source.send(0)
      queue.flush()
    }
    observe()
    #expect(list == nil)
    #expect(registry == nil)
    withExtendedLifetime(screen) {}
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
      let token = source.observe(on: queue.delivery, buffering: .newest(1)) {
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
    let storage = Lifetime.Storage()
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

  @Test("K8 What is added to a lifetime that has ended, ends at once")
  func late() {
    let source = Broadcaster<Int>()
    let storage = Lifetime.Storage()
    let ran = Recorder<Int>()
    storage.end()
    storage.add { ran.record(1) }
    #expect(ran.values == [1])
    let token = source.observe { _ in }
    storage.add(token.registration)
    #expect(!token.isActive)
  }

  @Test("K6 K16 A message larger than what a mailbox keeps is delivered, between smaller ones")
  func huge() {
    struct Page: Sendable {
      var bytes: InlineArray<100_000, UInt8>
    }
    let source = Broadcaster<Page>()
    let target = ManualTarget()
    let heard = Recorder<UInt8>()
    let token = source.observe(on: .target(target)) { page in
      heard.record(page.bytes[0])
      heard.record(page.bytes[99_999])
    }
    for number in 1...3 as ClosedRange<UInt8> {
      source.send(Page(bytes: InlineArray(repeating: number)))
    }
    target.runJobs()
    #expect(heard.values == [1, 1, 2, 2, 3, 3])
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

  #if DEBUG
    @Test("K16 A post that leaves behind the back of a scan which has seen it looks at what waits")
    func leavesDuringAScan() {
      let held = HeldSource()
      let isLeaving = Gate()
      let inside = held.gates.hold(at: .observer, gate: Gate())
      let poster = onThread {
        held.source.send(1)
        isLeaving.pass()
      }
      inside.waitUntilReached()
      // The scan has found the post, and is held there.
      let collected = held.gates.hold(at: .collected)
      let canceller = onThread { held.victim.cancel() }
      collected.waitUntilReached()
      // The post leaves. It has taken its ticket flag along when it comes to reclaim, or to the end.
      held.gates.hold(at: .engine(.willReclaim), gate: isLeaving)
      inside.open()
      isLeaving.waitUntilReached()
      isLeaving.open()
      collected.open()
      canceller()
      poster()
      #expect(held.victimLife.current == 0)
    }
  #endif
}
