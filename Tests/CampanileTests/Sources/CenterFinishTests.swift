import Campanile
import Testing

@Suite("The end of a message center", .ownThread)
struct CenterFinishTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()
  private let player = Player()

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
    await eventually { events.values.contains { $0.kind == .returned } }
    let kinds: Set<SourceEvent.Kind> = [
      .registered, .posted, .postReturned, .queued, .called, .ended, .failed, .returned,
    ]
    #expect(Set(events.values.map(\.kind)) == kinds)
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
