import Testing

@testable import Campanile

@Suite("Sources made from sources", .ownThread)
struct DerivedSourceTests {
  private let center = MessageCenter()
  private let ticks = Broadcaster<Int>()
  private let heard = Recorder<Int>()

  @Test(
    "K10 Who waits for a post does not wait for the only call of an observer that had its element")
  func onceWaitedFor() async throws {
    let (gate, returned) = (AsyncGate(), Recorder<Int>())
    let state = CurrentValue(0)
    let tokens = [
      ticks.map { $0 }.observeAsync(options: .once) { _ in await gate.pass() },
      state.observeAsync(options: .once) { _ in await gate.pass() },
    ]
    // One before its call begins, and one during it.
    ticks.send(1)
    state.value = 1
    let early = Task { [ticks] in
      try await ticks.sendAndWait(2)
      returned.record(2)
    }
    try await gate.reached(by: 2, within: patience)
    #expect(await returned.values(count: 1) == [2])
    let late = Task { [ticks] in
      try await ticks.sendAndWait(3)
      returned.record(3)
    }
    #expect(await returned.values(count: 2) == [2, 3])
    #expect(tokens.map(\.isActive) == [false, false])
    #expect(ticks.observerCount == 0)
    #expect(state.observerCount == 0)
    gate.open()
    for token in tokens { _ = await token.cancelAndWait() }
    try await early.value
    try await late.value
  }

  @Test("K5 An observer of a derived source has its place among those of the source")
  func order() {
    let tokens = [
      ticks.observe { [heard] in heard.record($0) },
      ticks.map { $0 * 10 }.observe { [heard] in heard.record($0) },
      ticks.filter { _ in true }.observe { [heard] in heard.record($0 * 100) },
      ticks.observe { [heard] in heard.record($0 * 1_000) },
    ]
    ticks.send(1)
    #expect(heard.values == [1, 10, 100, 1_000])
    withExtendedLifetime(tokens) {}
  }

  @Test("filter and compactMap leave elements out, alone and one behind the other")
  func selecting() {
    let odd = ticks.filter { !$0.isMultiple(of: 2) }
    let words = ticks.compactMap { [1: "one", 3: "three"][$0] }
    let lengths = Recorder<Int>()
    let tokens = [
      odd.observe { [heard] in heard.record($0) },
      odd.filter { $0 > 2 }.map { $0 * 10 }.observe { [heard] in heard.record($0) },
      words.map(\.count).observe { lengths.record($0) },
    ]
    for number in 1...4 { ticks.send(number) }
    #expect(heard.values == [1, 3, 30])
    #expect(lengths.values == [3, 5])
    withExtendedLifetime(tokens) {}
  }

  @Test("K12 What a filter leaves out takes no room in a bounded buffer, however many there are")
  func room() {
    let manual = ManualTarget()
    let one = ticks.filter { $0 < 10 }
    let two = one.filter { $0.isMultiple(of: 2) }.compactMap { $0 == 4 ? nil : $0 }
    let tokens = [
      one.observe(on: manual.delivery.buffered(.oldest(2))) { [heard] in heard.record($0) },
      two.observe(on: manual.delivery.buffered(.oldest(2))) { [heard] in heard.record(-$0) },
    ]
    for number in [11, 1, 12, 2, 13, 4, 6, 8] { ticks.send(number) }
    manual.runAll()
    #expect(heard.values.filter { $0 > 0 } == [1, 2])
    #expect(heard.values.filter { $0 < 0 } == [-2, -6])
    #expect(tokens.map(\.registration.droppedCount) == [3, 1])
  }

  @Test("A derived source keeps its source; a sequence of it does not, and ends with the source")
  func lifetimes() async {
    weak var weakSource: Broadcaster<Int>?
    var source: Broadcaster<Int>? = Broadcaster()
    weakSource = source
    var derived: Signal<Int>? = source!.map { $0 }.filter { _ in true }
    let sequence = derived!.values()
    let token = derived!.observe { [heard] in heard.record($0) }
    source = nil
    weakSource?.send(1)
    #expect(heard.values == [1])
    derived = nil
    #expect(weakSource == nil)
    #expect(!token.isActive)
    #expect(await all(sequence) == [1])
    #expect(await all(sequence) == [])
    withExtendedLifetime(derived) {}
  }

  @Test("Sources of many kinds stand in one array, and are observed alike")
  func stored() {
    let player = Player()
    let state = CurrentValue(0)
    let all: [Signal<Int>] = [
      ticks.signal, ticks.filter { $0 > 1 }, state.map { $0 }.signal,
      center.messages(of: Tick.self).map(\.number),
      center.messages(of: LevelChanged.self, about: player).map(\.level),
      center.anyMessage.compactMap { ($0.message as? Tick)?.number },
      Signal(OwnSource(ticks: ticks)),
    ]
    let tokens = all.enumerated().map { index, signal in
      signal.observe { [heard] in heard.record(index * 10 + $0) }
    }
    ticks.send(2)
    #expect(heard.values == [2, 12, 62])
    state.value = 3
    center.post(Tick(number: 4))
    center.post(LevelChanged(level: 5), about: player)
    center.post(LevelChanged(level: 5))
    #expect(heard.values == [2, 12, 62, 23, 34, 54, 45])
    withExtendedLifetime(tokens) {}
  }

  @Test("A type of one's own that says which signal it is has every way to observe")
  func ownSource() async {
    let (own, screen) = (OwnSource(ticks: ticks), Screen())
    let sequence = own.values(buffering: .newest(1))
    let token = own.observe(options: .once) { [heard] in heard.record($0) }
    own.observe(owner: screen) { $0.heard.record($1) }
    for number in 1...2 { ticks.send(number) }
    #expect(heard.values == [1])
    #expect(screen.heard.values == [1, 2])
    var iterator = sequence.makeAsyncIterator()
    #expect(await iterator.next() == 2)
    withExtendedLifetime((token, screen)) {}
  }
}

private struct OwnSource: ObservationSource {
  let ticks: Broadcaster<Int>
  var signal: Signal<Int> { ticks.signal }
}
