import Campanile
import Testing

@Suite("The end of a message center", .ownThread)
struct CenterFinishTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()
  private let queue = TestQueue()
  private let player = Player()
  private let screen = Screen()
  private let bag = TokenBag()

  /// One observation of each kind.
  private func observe() -> [Registration] {
    let tokens = [
      center.observe(Tick.self) { [heard] in heard.record($0.number) },
      center.messages(of: LevelChanged.self, about: player).observe { [heard] in
        heard.record($0.level)
      },
      center.observe(Tick.self, on: queue.delivery) { [heard] in heard.record($0.number) },
      center.observe(Tick.self, on: queue.delivery, buffering: .newest(1)) { [heard] in
        heard.record($0.number)
      },
      center.messages(of: Tick.self).observeAsync { [heard] in heard.record($0.number) },
      center.anyMessage.observe { [heard] _ in heard.record(0) },
    ]
    let owned = center.observe(Tick.self, owner: screen) { screen, tick in
      screen.heard.record(tick.number)
    }
    for token in tokens { token.store(in: bag) }
    return tokens.map(\.registration) + [owned]
  }

  @Test("K1 K3 finish() ends every observation, and those that come later at once")
  func ends() async throws {
    let registrations = observe()
    #expect(center.observerCount == 7)
    center.finish()
    #expect(center.observerCount == 0)
    #expect(registrations.allSatisfy { !$0.isActive })
    let late = observe()
    #expect(late.allSatisfy { !$0.isActive && $0.cancel() == .alreadyEnded })
    try await center.postAndWait(Tick(number: 1))
    center.post(LevelChanged(level: 2), about: player)
    queue.flush()
    center.finish()
    #expect(heard.values == [])
    #expect(screen.heard.values == [])
  }

  @Test("K3 What is queued when the center finishes is not delivered")
  func queued() {
    let tokens = [
      center.observe(Tick.self, on: queue.delivery) { [heard] in heard.record($0.number) },
      center.observe(Tick.self, on: queue.delivery, buffering: .newest(1)) { [heard] in
        heard.record($0.number)
      },
    ]
    queue.hold()
    center.post(Tick(number: 1))
    center.finish()
    queue.letGo()
    queue.flush()
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [])
  }

  @Test("K2 K7 finish() inside an observer skips those that come after it")
  func inside() {
    let tokens = (0..<3).map { index in
      center.observe(Tick.self) { [center, heard] _ in
        heard.record(index)
        if index == 1 { center.finish() }
      }
    }
    center.post(Tick(number: 1))
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [0, 1])
  }

  @Test("The sequences of a finished center end after what had gathered, later ones at once")
  func sequences() async throws {
    let gathered = center.messages(of: Tick.self).values()
    let (about, any) = (
      center.messages(of: LevelChanged.self, about: player).values(), center.anyMessage.values()
    )
    let silent = center.messages(of: LevelChanged.self, about: Player()).values()
    center.post(Tick(number: 1))
    center.finish()
    let ticks = Recorder(reading: gathered)
    try await ticks.expect(Tick(number: 1), within: patience)
    try await ticks.expectEnd(within: patience)
    try await Recorder(reading: about).expectEnd(within: patience)
    try await Recorder(reading: any).expectEnd(within: patience)
    try await Recorder(reading: silent).expectEnd(within: patience)
    // Further readers of those that are there, and new ones.
    try await Recorder(reading: gathered).expectEnd(within: patience)
    try await Recorder(reading: center.messages(of: Tick.self).values()).expectEnd(within: patience)
    try await Recorder(reading: center.anyMessage.values()).expectEnd(within: patience)
  }

  @Test("K13 K15 Observers of the events and the failures stay until the center is released")
  func reports() async throws {
    let events = Recorder(observing: center.events)
    let (gate, failures) = (AsyncGate(), Recorder(observing: center.failures))
    let token = center.messages(of: Tick.self).observeAsync { _ in
      await gate.pass()
      throw TestFailure()
    }
    center.post(Tick(number: 1))
    try await gate.reached(within: patience)
    center.finish()
    gate.open()
    _ = try await failures.next(within: patience)
    while !events.values.contains(where: { $0.kind == .returned }) { await Task.yield() }
    let kinds: Set<SourceEvent.Kind> = [
      .registered, .posted, .postReturned, .queued, .called, .ended, .failed, .returned,
    ]
    #expect(Set(events.values.map(\.kind)) == kinds)
    withExtendedLifetime(token) {}
  }

  @Test("K16 What the observers captured is gone when finish() returns")
  func released() throws {
    let leaks = LeakTracker()
    func observe() -> ObservationToken {
      let probe = leaks.makeProbe("closure")
      return center.observe(Tick.self) { _ in probe.touch() }
    }
    let token = observe()
    #expect(leaks.alive.count == 1)
    center.finish()
    try leaks.expectGone()
    withExtendedLifetime(token) {}
  }

  @Test("K1 K3 A center that finishes while others post and observe", arguments: [2, 8])
  func races(width: Int) {
    for _ in 0..<50 {
      let (center, heard) = (MessageCenter(), Recorder<Int>())
      let finished = Slot<Bool>()
      onThreads(width) { index in
        if index == 0 {
          center.finish()
          finished.set(true)
          return
        }
        let wasFinished = finished.value == true
        let token = center.observe(Tick.self) { heard.record($0.number) }
        if wasFinished { #expect(!token.isActive) }
        center.post(Tick(number: index))
        withExtendedLifetime(token) {}
      }
      let count = heard.count
      center.post(Tick(number: 0))
      #expect(heard.count == count)
      #expect(center.observerCount == 0)
    }
  }

  @Test("The shared center cannot be finished, a replacement can")
  func shared() async {
    MessageCenter.withDefault(center) { MessageCenter.default.finish() }
    #expect(!center.observe(Tick.self) { _ in }.isActive)
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      MessageCenter.default.finish()
    }
    expect(result, says: "The shared message center was finished")
  }
}
