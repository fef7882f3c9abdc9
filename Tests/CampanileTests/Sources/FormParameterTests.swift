import Testing

@testable import Campanile

/// Each form of observing hands on what it is given.
@Suite("Every form honors the subject, buffer, delivery and options that it is given", .ownThread)
struct FormParameterTests {
  private actor Ear {
    let heard = Recorder<Int>()
    func run<Result: Sendable>(_ body: @Sendable (isolated Ear) -> Result) -> Result {
      body(self)
    }
  }

  private let center = MessageCenter()
  private let ticks = Broadcaster<Int>()
  private let player = Player()
  private let screen = Screen()
  private let heard = Recorder<Int>()

  /// A source about the player, one with the player, and one about nothing.
  private var sources: [Signal<Int>] {
    let levels = center.messages(of: LevelChanged.self, about: player)
    return [levels.map(\.level), levels.withSubject.map(\.message.level), ticks.signal]
  }

  /// Posts two values for every observer, and two that observers about the player do not hear.
  private func postTwo() {
    center.post(LevelChanged(level: 8), about: Player())
    center.post(LevelChanged(level: 9))
    for number in 1...2 {
      center.post(LevelChanged(level: number), about: player)
      ticks.send(number)
    }
  }

  /// The registrations' buffers have had room for one of two values.
  private func expectOneWaits(_ registrations: [Registration], on delivery: String) {
    #expect(registrations.map(\.droppedCount) == registrations.map { _ in 1 })
    let names = (center.registrations + ticks.registrations).map(\.delivery)
    #expect(names == registrations.map { _ in delivery })
  }

  private func expectOneWasHeard(_ registrations: [Registration], _ heard: Recorder<Int>) {
    #expect(heard.values == registrations.map { _ in 1 })
    #expect(registrations.allSatisfy { !$0.isActive })
  }

  @Test("K11 K12 Observers at a place")
  func atPlace() {
    let manual = ManualTarget()
    let place = manual.delivery.ordered.buffered(.oldest(1))
    let tokens = sources.map {
      $0.observe(on: place, options: .once) { [heard] in heard.record($0) }
    }
    let owned = sources.map {
      $0.observe(owner: screen, on: place, options: .once) { [heard] in heard.record($1) }
    }
    let registrations = tokens.map(\.registration) + owned
    postTwo()
    expectOneWaits(registrations, on: "ManualDelivery, ordered")
    manual.runAll()
    expectOneWasHeard(registrations, heard)
    withExtendedLifetime(tokens) {}
  }

  @Test("K11 K12 Observers on the main actor")
  @MainActor func onMain() async {
    let place = MainDelivery.main(buffering: .oldest(1), ordered: true)
    let tokens = sources.map {
      $0.observe(on: place, options: .once) { [heard] in heard.record($0) }
    }
    let owned = sources.map {
      $0.observe(owner: screen, on: place, options: .once) { [heard] in heard.record($1) }
    }
    let registrations = tokens.map(\.registration) + owned
    postTwo()
    // Nothing is delivered before this function gives way.
    expectOneWaits(registrations, on: ".main, ordered")
    _ = await heard.values(count: registrations.count)
    expectOneWasHeard(registrations, heard)
    withExtendedLifetime(tokens) {}
  }

  @Test("K12 Observers on an actor")
  func onActor() async {
    let ear = Ear()
    let registrations = await ear.run { ear in
      let registrations = sources.map {
        $0.observe(on: ear, buffering: .oldest(1), options: .once) { $0.heard.record($1) }
      }
      postTwo()
      // The actor is busy until this closure ends.
      expectOneWaits(registrations, on: "actor Ear")
      return registrations
    }
    _ = await ear.heard.values(count: registrations.count)
    await ear.run { _ in }
    expectOneWasHeard(registrations, ear.heard)
  }

  @Test("K12 Asynchronous observers, one call at a time")
  func oneAtATime() async throws {
    let gate = AsyncGate()
    let tokens = sources.map {
      $0.observeAsync(buffering: .oldest(1)) { [heard] in
        await gate.pass()
        heard.record($0)
      }
    }
    let owned = sources.map {
      $0.observeAsync(owner: screen, buffering: .oldest(1)) { [heard] in
        await gate.pass()
        heard.record($1)
      }
    }
    center.post(LevelChanged(level: 0), about: player)
    ticks.send(0)
    // The first value is being heard, and no more of them waits.
    try await gate.reached(by: 6, within: patience)
    postTwo()
    expectOneWaits(tokens.map(\.registration) + owned, on: "asynchronously")
    gate.open()
    #expect(await heard.values(count: 12).sorted() == (0..<12).map { $0 / 6 })
    withExtendedLifetime(tokens) {}
  }

  @Test("K12 Sequences")
  func sequences() async {
    let levels = center.messages(of: LevelChanged.self, about: player).values(buffering: .newest(1))
    let (numbers, first) = (ticks.values(buffering: .newest(1)), ticks.values(options: .once))
    postTwo()
    #expect(levels.registration.droppedCount == 1 && numbers.registration.droppedCount == 1)
    ticks.finish()
    var level = levels.makeAsyncIterator()
    #expect(await level.next()?.level == 2)
    #expect(await all(numbers) == [2])
    #expect(await all(first) == [1])
  }
}
