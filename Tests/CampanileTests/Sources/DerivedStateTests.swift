import Synchronization
import Testing

@testable import Campanile

@Suite("States made from states", .ownThread)
struct DerivedStateTests {
  private let number = CurrentValue(1)
  private let heard = Recorder<Int>()

  // MARK: map

  @Test("A mapped state has what the closure makes of the value, and its changes")
  func mapped() {
    let ten = number.map { $0 * 10 }
    let changes = Recorder<ValueChange<Int>>()
    let token = ten.changes.observe(options: .initial) { changes.record($0) }
    #expect(ten.value == 10)
    number.value = 2
    #expect(ten.value == 20)
    number.update { $0 += 1 }
    #expect(changes.values.map(\.new) == [10, 20, 30])
    #expect(changes.values.map(\.old) == [nil, 10, 20])
    withExtendedLifetime(token) {}
  }

  @Test("distinct compares what the closure made, and once is used up by what got through")
  func distinct() {
    let isBig = number.map { $0 > 2 }
    let all = isBig.observe { [heard] _ in heard.record(1) }
    let distinct = isBig.observe(options: [.initial, .distinct]) { [heard] in
      heard.record($0 ? 20 : 10)
    }
    let first = isBig.changes.observe(options: [.once, .distinct]) { [heard] in
      heard.record($0.new ? 200 : 100)
    }
    number.value = 2
    number.value = 3
    number.value = 4
    #expect(heard.values == [10, 1, 1, 20, 200, 1])
    #expect(!first.isActive)
    withExtendedLifetime((all, distinct)) {}
  }

  @Test("K14 What is set before the end is told, also if the derived state is telling")
  func setBeforeTheEnd() {
    let derived = number.map { $0 }
    let token = derived.observe { [heard] in heard.record($0) }
    let first = derived.observe(options: .initial) { [number] value in
      if value != 1 { return }
      number.value = 5
      number.finish()
    }
    #expect(heard.values == [5])
    #expect(!token.isActive && !first.isActive)
  }

  @Test("K14 The closure runs once for each change, however many observe, and for each read")
  func runs() {
    let runs = LiveCount()
    let derived = number.map { number in
      runs.increment()
      return number
    }
    #expect(runs.current == 0)
    _ = derived.value
    #expect(runs.current == 1)
    let tokens = (0..<3).map { _ in
      derived.observe(options: .initial) { [heard] in heard.record($0) }
    }
    #expect(runs.current == 2)
    number.value = 2
    number.value = 3
    #expect(runs.current == 4)
    #expect(heard.values == [1, 1, 1, 2, 2, 2, 3, 3, 3])
    withExtendedLifetime(tokens) {}
  }

  // MARK: combined

  @Test("A combined state has all values, and a change for each change of one of them")
  func combined() {
    let (name, flag) = (CurrentValue("a"), CurrentValue(true))
    let both = number.combined(with: name)
    let all = number.combined(with: name, flag) { "\($0)\($1)\($2 ? "+" : "-")" }
    let told = Recorder<String>()
    let tokens = [
      both.changes.observe(options: .initial) { change in
        let old = change.old.map { "\($0.0)\($0.1)" } ?? "nothing"
        told.record("\(old) \(change.new.0)\(change.new.1)")
      },
      all.observe { told.record($0) },
    ]
    number.value = 2
    name.value = "b"
    flag.value = false
    #expect(both.value == (2, "b"))
    #expect(all.value == "2b-")
    #expect(told.values == ["nothing 1a", "1a 2a", "2a+", "2a 2b", "2b+", "2b-"])
    withExtendedLifetime(tokens) {}
  }

  @Test("K14 On however many ways a state leads there, its change is one, with what existed")
  func diamond() {
    let items = CurrentValue([1])
    let (count, sum) = (items.map(\.count), items.map { $0.reduce(0, +) })
    let rate = CurrentValue(1)
    let mean = sum.combined(with: count, rate, items) { $0 * $2 / $1 * ($3.count == $1 ? 1 : -1) }
    let reads = Recorder<Int>()
    let token = mean.observe(options: .initial) { [heard] in
      heard.record($0)
      reads.record(mean.value)
    }
    items.value = [1, 3]
    items.update { $0 += [5] }
    rate.value = 10
    #expect(heard.values == [1, 2, 3, 30])
    #expect(reads.values == heard.values)
    // A tap for each state, and no more.
    #expect(items.observerCount == 1)
    #expect(rate.observerCount == 1)
    withExtendedLifetime(token) {}
  }

  @Test(
    "K14 A value that is read while another thread sets is one that existed", arguments: [2, 8])
  func readDiamond(width: Int) {
    let twice = number.combined(with: number.map { -$0 }) { $0 + $1 }
    let heard = heard
    let token = twice.observe { heard.record($0) }
    onThreads(width) { [number] thread in
      for step in 1...500 {
        if thread == 0 { number.value = step } else if twice.value != 0 { heard.record(1) }
      }
    }
    #expect(heard.values.allSatisfy { $0 == 0 })
    #expect(heard.count == 500)
    withExtendedLifetime(token) {}
  }

  @Test("K14 An observer that sets one of the states is told the next change when it has returned")
  func setInside() {
    let other = CurrentValue(0)
    let both = number.combined(with: other) { $0 * 10 + $1 }
    let tokens = (0..<2).map { index in
      both.observe(options: index == 0 ? .initial : []) { [number, heard] value in
        heard.record(value)
        if value == 20 { other.value = 5 }
        if value == 25, index == 0 { number.value = 3 }
      }
    }
    number.value = 2
    #expect(heard.values == [10, 20, 20, 25, 25, 25, 25, 35, 35, 35, 35])
    withExtendedLifetime(tokens) {}
  }

  @Test("K16 60,000 derived states that nobody observes keep nothing, and nor do those after use")
  func unobserved() {
    let other = CurrentValue(0)
    let derived = (0..<60_000).map { index in number.map { $0 + index }.combined(with: other) }
    #expect(number.observerCount == 0)
    #expect(derived[59_999].value == (60_000, 0))
    for one in derived.prefix(100) {
      let token = one.observe { _ in }
      #expect(number.observerCount == 1)
      token.cancel()
      #expect((number.observerCount, other.observerCount) == (0, 0))
    }
    // It can be observed again.
    let token = derived[0].observe(options: .initial) { [heard] in heard.record($0.0) }
    number.value = 2
    #expect(heard.values == [1, 2])
    withExtendedLifetime(token) {}
  }

  @Test("K8 K16 The taps of a derived state without living owners end with the next change")
  func deadOwners() {
    let twice = number.map { $0 * 2 }
    func observe() {
      let screen = Screen()
      twice.observe(owner: screen) { _, _ in }
    }
    observe()
    number.value = 2
    #expect(number.observerCount == 0)
  }

  @Test("A derived state keeps its states, and its observers do not", arguments: [true, false])
  func keeps(isKept: Bool) {
    var kept: ReadOnlyState<(Int, Int)>?
    func observe() -> ObservationToken {
      let both = CurrentValue(1).combined(with: CurrentValue(2))
      if isKept { kept = both }
      return both.observe { _ in }
    }
    let token = observe()
    #expect(token.isActive == isKept)
    withExtendedLifetime(kept) {}
  }

  @Test(
    "K14 Two states set by many threads: a change for each set, and never an older value",
    arguments: [1, 2, 8])
  func combinedRace(width: Int) {
    let other = CurrentValue(0)
    let both = number.combined(with: other)
    let changes = Recorder<ValueChange<(Int, Int)>>()
    let token = both.changes.observe(options: .initial) { changes.record($0) }
    onThreads(width) { [number] thread in
      for _ in 1...200 {
        if thread.isMultiple(of: 2) { number.update { $0 += 1 } } else { other.update { $0 += 1 } }
      }
    }
    let values = changes.values
    #expect(values.count == width * 200 + 1)
    #expect(values.last!.new == (number.value, other.value))
    for (one, next) in zip(values, values.dropFirst()) {
      #expect(next.old! == one.new)
      #expect(next.new.0 + next.new.1 == one.new.0 + one.new.1 + 1)
    }
    withExtendedLifetime(token) {}
  }

  @Test("K10 A set that waits, waits for observers of what is derived from the state")
  func waitedFor() async throws {
    let other = CurrentValue(0)
    let sum = number.map { $0 * 10 }.combined(with: other) { $0 + $1 }
    let token = sum.observeAsync { [heard] in
      await Task.yield()
      heard.record($0)
    }
    try await number.setAndWait(2)
    #expect(heard.values == [20])
    try await other.setAndWait(1)
    #expect(heard.values == [20, 21])
    withExtendedLifetime(token) {}
  }

  @Test("K13 What an observer of a derived state throws is reported by its states, once each")
  func combinedFailures() {
    let other = CurrentValue(1)
    let reports = [number, other].map { Recorder(observing: $0.failures) }
    let twice = number.map { $0 * 2 }.combined(with: number).combined(with: other.readOnly)
    let token = twice.observe { _ in throw CancellationError() }
    number.value = 2
    for report in reports { #expect(report.values.map { $0.error is CancellationError } == [true]) }
    withExtendedLifetime(token) {}
  }

  @Test("K15 What a derived state observes is described as that, with the line that observes it")
  func combinedDescribed() {
    let line = #line + 1
    let token = number.combined(with: CurrentValue(1)).observe { _ in }
    let described = number.registrations
    #expect(described.map(\.line) == [line])
    #expect(described[0].description.contains("on behalf of a derived state"))
    withExtendedLifetime(token) {}
  }

  @Test("A derived state ends when its states have ended, and its sequences with it")
  func combinedEnds() async {
    let other = CurrentValue(0)
    let both = number.combined(with: other)
    let token = both.observe { [heard] in heard.record($0.1) }
    let sequence = both.values()
    number.finish()
    other.value = 1
    #expect(token.isActive)
    other.finish()
    #expect(!token.isActive)
    #expect(await all(sequence).map(\.1) == [1])
    #expect(heard.values == [1])
  }

  @Test("A derived state tells the last value of a state that has ended, and reads what it is now")
  func combinedValueAfterEnd() {
    let other = CurrentValue(0)
    let both = number.combined(with: other)
    let values = Recorder<[Int]>()
    let token = both.observe(options: .initial) { values.record([$0.0, $0.1]) }
    number.finish()
    number.value = 2
    other.value = 5
    #expect(values.values == [[1, 0], [1, 5]])
    #expect(both.value == (2, 5))
    withExtendedLifetime(token) {}
  }

  @Test("K7 A value that a derived state lets go of may use the states in its deinit")
  func combinedReleasesOutsideLocks() {
    let other = CurrentValue(0)
    let state = CurrentValue<OnRelease?>(nil)
    let both = state.combined(with: other)
    let token = both.observe { _ in }
    state.value = OnRelease { [heard] in
      other.value += 1
      heard.record(both.value.1)
    }
    state.value = nil
    #expect(heard.values == [1])
    withExtendedLifetime(token) {}
  }

  // MARK: held

  @Test("A source is held as a state, which late observers begin with")
  func held() {
    let ticks = Broadcaster<Int>()
    let last = ticks.filter { $0 > 0 }.state(initially: 0)
    for number in [1, -1, 2] { ticks.send(number) }
    #expect(last.value == 2)
    let tokens = [
      last.observe(options: .initial) { [heard] in heard.record($0) },
      last.map { $0 * 10 }.combined(with: number) { $0 + $1 }.observe { [heard] in heard.record($0)
      },
    ]
    ticks.send(3)
    number.value = 5
    ticks.finish()
    #expect(heard.values == [2, 3, 31, 35])
    #expect(last.value == 3)
    #expect(!tokens[0].isActive)
    withExtendedLifetime(tokens) {}
  }

  @Test("K16 A held state observes for as long as it is kept or observed itself")
  func heldKept() {
    let ticks = Broadcaster<Int>()
    let token = ticks.state(initially: 0).observe { [heard] in heard.record($0) }
    let other = ticks.state(initially: 0).map { -$0 }.observe { [heard] in heard.record($0) }
    #expect(ticks.observerCount == 2)
    ticks.send(1)
    #expect(heard.values == [1, -1])
    token.cancel()
    #expect(ticks.observerCount == 1)
    other.cancel()
    #expect(ticks.observerCount == 0)
    var kept: ReadOnlyState<Int>? = ticks.state(initially: 0)
    #expect(ticks.observerCount == 1)
    kept = nil
    #expect(ticks.observerCount == 0)
    withExtendedLifetime(kept) {}
  }

  @Test("A sequence keeps what is held, and all readers of a derived state share one computation")
  func heldSequences() async throws {
    let (center, player, runs) = (MessageCenter(), Player(), LiveCount())
    var levels = center.latest(of: LevelChanged.self, about: player)
      .values(options: .initial).makeAsyncIterator()
    #expect(await levels.next()??.level == nil)
    let derived = number.map { number in
      runs.increment()
      return number
    }
    let token = derived.observe { _ in }
    let sequences = [derived.values(), derived.values()]
    center.post(LevelChanged(level: 1), about: player)
    #expect(await levels.next()??.level == 1)
    let before = runs.current
    number.value = 2
    #expect(runs.current == before + 1)
    #expect(number.observerCount == 1)
    withExtendedLifetime((token, sequences)) {}
  }

  @Test(
    "K10 K13 Who waits for a post waits for observers of what is held, whose errors are reported")
  func heldWaitedFor() async throws {
    let (center, player) = (MessageCenter(), Player())
    let failures = Recorder(observing: center.failures)
    let token = center.latest(of: LevelChanged.self, about: player).observeAsync { [heard] in
      await Task.yield()
      heard.record($0?.level ?? 0)
      throw TestFailure()
    }
    try await center.postAndWait(LevelChanged(level: 1), about: player)
    #expect(heard.values == [1])
    #expect(failures.count == 1)
    withExtendedLifetime(token) {}
  }

  // MARK: latest

  @Test("The last message of a type waits for a late observer")
  func latest() {
    let center = MessageCenter()
    let latest = center.latest(of: Tick.self)
    #expect(latest.value == nil)
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    let token = center.latest(of: Tick.self).observe(options: .initial) { [heard] in
      heard.record($0?.number ?? 0)
    }
    center.post(Tick(number: 3))
    #expect(heard.values == [2, 3])
    #expect(latest.value == Tick(number: 3))
    #expect(center.observerCount == 1)
    withExtendedLifetime(token) {}
  }

  @Test("The last message is remembered again after everything in the center was canceled")
  func latestAgain() {
    let center = MessageCenter()
    let before = center.latest(of: Tick.self)
    center.post(Tick(number: 1))
    for one in center.registrations { one.registration.cancel() }
    center.post(Tick(number: 2))
    #expect(before.value == Tick(number: 1))
    let after = center.latest(of: Tick.self)
    let token = after.observe(options: .initial) { [heard] in heard.record($0?.number ?? 0) }
    center.post(Tick(number: 3))
    #expect(heard.values == [0, 3])
    #expect(center.latest(of: Tick.self).value == Tick(number: 3))
    #expect(center.observerCount == 1)
    withExtendedLifetime(token) {}
  }

  @Test("A center that has finished keeps its last message for those who ask for it then")
  func latestOfFinished() {
    let center = MessageCenter()
    _ = center.latest(of: Tick.self)
    center.post(Tick(number: 1))
    center.finish()
    #expect(center.latest(of: Tick.self).value == Tick(number: 1))
    #expect(center.latest(of: Tock.self).value == nil)
  }

  @Test("K1 The state of the last message is found by others once it hears messages")
  func latestIsRegisteredFirst() {
    let (center, isUnknown) = (MessageCenter(), Recorder<Bool>())
    let events = center.events.observe { [weak center] event in
      guard event.kind == .registered, let center else { return }
      isUnknown.record(center.latestMessages.withLock { $0.isEmpty })
    }
    _ = center.latest(of: Tick.self)
    #expect(isUnknown.values == [true])
    #expect(center.latestMessages.withLock { $0.count } == 1)
    withExtendedLifetime(events) {}
  }

  @Test(
    "K1 Whoever asks for the last message, whenever, misses none after that", arguments: [2, 8])
  func latestRace(width: Int) {
    for _ in 0..<50 {
      let center = MessageCenter()
      let missed = Atomic(0)
      onThreads(width) { thread in
        let latest = center.latest(of: Tick.self)
        center.post(Tick(number: thread))
        if latest.value == nil { missed.wrappingAdd(1, ordering: .relaxed) }
      }
      #expect(missed.load(ordering: .relaxed) == 0)
      #expect(center.observerCount == 1)
    }
  }
}
