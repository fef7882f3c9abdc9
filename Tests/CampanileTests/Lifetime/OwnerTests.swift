import Testing

@testable import Campanile

@Suite("K8: owners", .ownThread)
struct OwnerTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()
  private let queue = TestQueue()

  /// Observes with an owner that ends when the slot does.
  private func observeWithMortal(on delivery: Delivery = .immediate) -> Slot<Screen> {
    let slot = Slot<Screen>()
    func observe() {
      let screen = Screen()
      slot.set(screen)
      center.observe(Tick.self, owner: screen, on: delivery) { [heard] screen, tick in
        heard.record(tick.number)
        withExtendedLifetime(screen) {}
      }
    }
    observe()
    return slot
  }

  @Test("K8 an owner is held weakly")
  func weakly() {
    let slot = observeWithMortal()
    weak let screen = slot.value
    center.post(Tick(number: 1))
    slot.set(nil)
    #expect(screen == nil)
    center.post(Tick(number: 2))
    #expect(heard.values == [1])
  }

  @Test("K8 an owner is held weakly by every kind of observer")
  func weaklyEverywhere() async throws {
    weak var weakScreen: Screen?
    let ticks = Broadcaster<Int>()
    let state = CurrentValue(1)
    func observe() -> [Registration] {
      let screen = Screen()
      weakScreen = screen
      return [
        center.observe(Tick.self, owner: screen) { _, _ in },
        center.messages(of: LevelChanged.self).withSubject.observe(owner: screen) { _, _ in },
        center.observe(Tick.self, owner: screen, on: .main) { _, _ in },
        center.messages(of: LevelChanged.self).withSubject.observe(owner: screen, on: .main) {
          _, _ in
        },
        center.observe(Tick.self, owner: screen, on: queue.delivery) { _, _ in },
        center.observe(Tick.self, owner: screen, on: queue.delivery, buffering: .newest(1)) {
          _, _ in
        },
        center.observe(Tick.self, owner: screen, .once) { _, _ in },
        center.anyMessage.observe(owner: screen) { _, _ in },
        ticks.observe(owner: screen) { _, _ in },
        ticks.observe(owner: screen, on: .main) { _, _ in },
        state.observe(owner: screen, .initial) { _, _ in },
        state.observe(owner: screen, on: .main) { _, _ in },
        state.observe(owner: screen, .distinct) { _, _ in },
      ]
    }
    let registrations = observe()
    #expect(weakScreen == nil)
    #expect(center.observerCount + ticks.observerCount + state.observerCount == 0)
    // Whoever looks for an owner that has gone ends the registration.
    try await center.postAndWait(Tick(number: 1))
    try await center.postAndWait(LevelChanged(level: 1))
    try await ticks.sendAndWait(1)
    // Called after the others that the change comes to on the main queue. Nothing else says that they
    // had their turn: what is under way there for another test may have it put off.
    let last = state.observe(on: .main) { [heard] in heard.record($0.new) }
    state.value = 2
    #expect(await heard.values(count: 1) == [2])
    for (index, registration) in registrations.enumerated() {
      #expect(registration.cancel() == .alreadyEnded, "number \(index)")
    }
    withExtendedLifetime(last) {}
  }

  @Test("K8 the asynchronous followers of a broadcaster and a current value hold theirs weakly")
  func weaklyAsync() {
    weak var weakScreen: Screen?
    let ticks = Broadcaster<Int>()
    let state = CurrentValue(1)
    func observe() {
      let screen = Screen()
      weakScreen = screen
      ticks.observeAsync(owner: screen) { _, _ in }
      ticks.observeAsync(owner: screen, execution: .concurrent) { _, _ in }
      state.observeAsync(owner: screen, execution: .oneAtATime, .distinct) { _, _ in }
    }
    observe()
    #expect(weakScreen == nil)
    #expect(ticks.observerCount + state.observerCount == 0)
  }

  @Test("K8 an owner is kept alive for the length of a call")
  func keptDuringCall() {
    let slot = Slot<Screen>()
    weak var weakScreen: Screen?
    func observe() {
      let screen = Screen()
      weakScreen = screen
      slot.set(screen)
      center.observe(Tick.self, owner: screen) { [heard] screen, tick in
        slot.set(nil)
        screen.heard.record(tick.number)
        heard.record(screen.heard.count)
      }
    }
    observe()
    center.post(Tick(number: 1))
    #expect(heard.values == [1])
    #expect(weakScreen == nil)
  }

  @Test("K8 an owner is not called by a hop that was queued when it died")
  func queuedHop() {
    let slot = observeWithMortal(on: queue.delivery)
    queue.hold()
    center.post(Tick(number: 1))
    slot.set(nil)
    queue.letGo()
    queue.flush()
    #expect(heard.values.isEmpty)
  }

  @Test("K8 a queued hop does not keep the owner")
  func queuedHopKeepsNothing() {
    let slot = observeWithMortal(on: queue.delivery)
    weak let screen = slot.value
    queue.hold()
    center.post(Tick(number: 1))
    slot.set(nil)
    #expect(screen == nil)
    queue.letGo()
  }

  @Test("K8 an owner is never called once its deinit has begun")
  func inDeinit() {
    final class Dying: Sendable {
      let center: MessageCenter
      init(_ center: MessageCenter) { self.center = center }
      deinit { center.post(Tick(number: 1)) }
    }
    func observe() {
      let dying = Dying(center)
      center.observe(Tick.self, owner: dying) { [heard] _, tick in heard.record(tick.number) }
    }
    observe()
    #expect(heard.values.isEmpty)
  }

  @Test("K8 with a lifetime everything goes at the owner's deinit")
  func lifetime() {
    let live = LiveCount()
    var registrations: [Registration] = []
    func observe() {
      let room = Room()
      for delivery in [Delivery.immediate, queue.delivery, .mainQueue] {
        registrations.append(
          center.observe(Tick.self, owner: room, on: delivery) { [tracked = Tracked(live)] _, _ in
            tracked.touch()
          })
      }
      registrations.append(
        center.observe(Tick.self, owner: room, on: queue.delivery, buffering: .newest(1)) {
          [tracked = Tracked(live)] _, _ in tracked.touch()
        })
      #expect(live.current == 4)
      withExtendedLifetime(room) {}
    }
    observe()
    #expect(live.current == 0)
    #expect(registrations.allSatisfy { $0.cancel() == .alreadyEnded })
  }

  @Test("K8 a lifetime's owner that dies during its own call")
  func lifetimeInsideCall() {
    let live = LiveCount()
    let slot = Slot<Room>()
    func observe() {
      let room = Room()
      slot.set(room)
      let tracked = Tracked(live)
      center.observe(Tick.self, owner: room) { [heard, tracked] _, tick in
        tracked.touch()
        slot.set(nil)
        heard.record(tick.number)
      }
    }
    observe()
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    #expect(heard.values == [1])
    #expect(live.current == 0)
  }

  @Test("K8 without a lifetime a post reclaims the entry of a dead owner")
  func reclaimedByPost() {
    let live = LiveCount()
    func observe() {
      let screen = Screen()
      let tracked = Tracked(live)
      center.observe(Tick.self, owner: screen) { [tracked] _, _ in tracked.touch() }
    }
    observe()
    center.post(Tick(number: 1))
    #expect(live.current == 0)
  }

  @Test("K8 without a lifetime and without posts, registering reclaims dead owners' entries")
  func reclaimedByRegistering() {
    let live = LiveCount()
    for _ in 0..<5_000 {
      let screen = Screen()
      let tracked = Tracked(live)
      center.observe(Tick.self, owner: screen) { [tracked] _, _ in tracked.touch() }
    }
    #expect(live.current <= 64)
  }

  @Test("K8 an actor is its observer's owner, held weakly")
  func actor() async throws {
    let live = LiveCount()
    actor Keeper {
      let tracked: Tracked
      init(_ live: LiveCount) { tracked = Tracked(live) }
    }
    func observe() {
      center.observe(Tick.self, on: Keeper(live)) { [heard] _, tick in heard.record(tick.number) }
    }
    observe()
    #expect(live.current == 0)
    try await center.postAndWait(Tick(number: 1))
    #expect(heard.values.isEmpty)
    #expect(center.observerCount == 0)
  }

  @Test("K8 an actor that dies with a delivery on its way ends its registration")
  func actorWithPending() async throws {
    actor Short {
      let end: OnRelease
      init(_ end: OnRelease) { self.end = end }
    }
    let ended = Inbox<Int>()
    func observe() -> Task<Void, any Error> {
      let short = Short(OnRelease { ended.record(1) })
      center.observe(Tick.self, on: short) { _, _ in }
      return Task { [center] in try await center.postAndWait(Tick(number: 1)) }
    }
    try await observe().value
    // The delivery may have come first, and its task keeps the actor a moment longer then.
    _ = await ended.values(count: 1)
    #expect(center.observerCount == 0)
  }

  @Test("K8 an owner that is its own subject ends its registration")
  func ownSubject() {
    struct Changed: MessageCenter.Message { typealias Subject = Screen }
    weak var weakScreen: Screen?
    func observe() {
      let screen = Screen()
      weakScreen = screen
      center.messages(of: Changed.self, about: screen).observe(owner: screen) { screen, _ in
        screen.heard.record(1)
      }
      center.post(Changed(), about: screen)
      #expect(screen.heard.values == [1])
    }
    observe()
    #expect(weakScreen == nil)
    #expect(center.observerCount == 0)
  }

  @Test("K8 owners that die while others post", arguments: [1, 2, 8])
  func race(width: Int) {
    final class Guarded: Sendable {
      let isAlive = Locked(true)
      deinit { isAlive.withLock { $0 = false } }
    }
    let late = Recorder<Int>()
    onThreads(width) { [center, queue] thread in
      for number in 0..<100 {
        let guarded = Guarded()
        let delivery = number % 2 == 0 ? Delivery.immediate : queue.delivery
        center.observe(Tick.self, owner: guarded, on: delivery) { guarded, _ in
          if !guarded.isAlive.withLock({ $0 }) { late.record(thread) }
        }
        center.post(Tick(number: number))
      }
    }
    queue.flush()
    #expect(late.values.isEmpty)
    #expect(center.observerCount == 0)
  }

  @Test("K8 lifetimes that end while others post", arguments: [1, 2, 8])
  func lifetimeRace(width: Int) {
    let live = LiveCount()
    onThreads(width) { [center] _ in
      for number in 0..<100 {
        let room = Room()
        let tracked = Tracked(live)
        center.observe(Tick.self, owner: room) { [tracked] _, _ in tracked.touch() }
        center.post(Tick(number: number))
      }
    }
    #expect(live.current == 0)
    #expect(center.observerCount == 0)
  }
}
