import Testing

@testable import Campanile

@Suite("K14: what an observer of a state knows", .ownThread)
struct FollowingTests {
  private let state = CurrentValue(0)
  private let queue = TestQueue()
  private let changes = Recorder<String>()
  private let tokens = TokenBag()

  /// What a change looks like here.
  private static func text(_ change: ValueChange<Int>) -> String {
    "\(change.old.map { "\($0)" } ?? "-")>\(change.new)"
  }

  private func record() -> @Sendable (ValueChange<Int>) -> Void {
    { [changes] in changes.record(Self.text($0)) }
  }

  /// Every way to be called.
  enum Way: CaseIterable, Sendable {
    case immediate, queued, ordered, bounded, main, asynchronous, boundedAsynchronous
  }

  private func follow(_ way: Way, _ options: ObservationOptions<StateChanges<Int>> = [])
    -> ObservationToken
  {
    let (source, body) = (state.changes, record())
    return switch way {
    case .immediate: source.observe(options: options) { body($0) }
    case .queued: source.observe(on: queue.delivery, options: options) { body($0) }
    case .ordered: source.observe(on: queue.delivery.ordered, options: options) { body($0) }
    case .bounded:
      source.observe(on: queue.delivery.buffered(.newest(4)), options: options) { body($0) }
    case .main: source.observe(on: .main, options: options) { body($0) }
    case .asynchronous: source.observeAsync(options: options) { body($0) }
    case .boundedAsynchronous:
      source.observeAsync(buffering: .newest(4), options: options) { body($0) }
    }
  }

  /// Records the calls that are not made because of a pause.
  private func recordSkipped() -> Recorder<SourceEvent> {
    let calls = Recorder<SourceEvent>()
    state.events.observe { if $0.kind == .skipped { calls.record($0) } }.store(in: tokens)
    return calls
  }

  @Test("K14 What was missed in a pause is told as one change at its end", arguments: Way.allCases)
  func one(way: Way) async throws {
    let token = follow(way)
    state.value = 1
    try await changes.expect("0>1", within: patience)
    token.pause()
    let skipped = recordSkipped()
    for value in 2...5 { state.value = value }
    _ = await skipped.values(count: 4)
    token.resume()
    try await changes.expect("1>5", within: patience)
    state.value = 6
    try await changes.expect("5>6", within: patience)
    withExtendedLifetime(token) {}
    #expect(changes.values == ["0>1", "1>5", "5>6"])
  }

  @Test("K14 A pause keeps nothing: what was set in it is one change, although there is a buffer")
  func keepsNothing() {
    let target = ManualTarget()
    let token = state.changes.observe(on: .target(target, buffering: .newest(4)), record())
    state.value = 1
    token.pause()
    for value in 2...4 { state.value = value }
    #expect(token.registration.waitingCount == 1)
    token.resume()
    target.runJobs()
    #expect(changes.values == ["0>1", "1>4"])
  }

  @Test("K14 What a full buffer dropped is part of the next change")
  func dropped() {
    let target = ManualTarget()
    let token = state.changes.observe(on: .target(target, buffering: .newest(2))) {
      [body = record()] in body($0)
    }
    for value in 1...5 { state.value = value }
    target.runAll()
    for value in 6...9 { state.value = value }
    target.runAll()
    #expect(changes.values == ["0>4", "4>5", "5>8", "8>9"])
    withExtendedLifetime(token) {}
  }

  @Test("K14 A pause that misses nothing tells nothing, and a value on its way is told once")
  func nothingMissed() {
    let (target, values) = (ManualTarget(), Recorder<Int>())
    let token = state.observe(on: .target(target)) { values.record($0) }
    state.value = 1
    token.pause()
    token.resume()
    target.runAll()
    #expect(values.values == [1])
    token.pause()
    state.value = 2
    target.runAll()
    state.value = 3
    // With 3 on its way, and the call after the pause behind it.
    token.resume()
    target.runAll()
    #expect(values.values == [1, 3])
    token.pause()
    state.value = 4
    target.runAll()
    token.resume()
    token.pause()
    target.runAll()
    #expect(values.values == [1, 3])
    token.resume()
    target.runAll()
    #expect(values.values == [1, 3, 4])
  }

  @Test("K14 Nested pauses: what was missed is told when the last is taken back, once")
  func nested() {
    let bag = TokenBag()
    let token = follow(.immediate)
    token.pause()
    token.store(in: bag)
    bag.pause()
    state.value = 1
    bag.resume()
    state.value = 2
    #expect(changes.values.isEmpty && token.isPaused)
    token.resume()
    #expect(changes.values == ["0>2"])
    token.resume()
    bag.resume()
    #expect(changes.values == ["0>2"])
  }

  @Test("K7 K14 A bag tells its followers what they missed with no lock held")
  func bag() {
    let bag = TokenBag()
    let screen = Screen()
    state.observe(owner: screen) { [bag] screen, value in
      screen.heard.record(value)
      if value == 2 { bag.cancel() }
    }.store(in: bag)
    bag.pause()
    state.value = 1
    bag.resume()
    #expect(screen.heard.values == [1])
    bag.pause()
    state.value = 2
    bag.resume()
    state.value = 3
    #expect(screen.heard.values == [1, 2])
    #expect(bag.count == 0)
  }

  @Test("K3 K14 An observer that is ended in the pause is told nothing, and keeps no value")
  func ended() {
    let live = LiveCount()
    let state = CurrentValue(Tracked(live))
    let token = state.changes.observe { [changes] _ in changes.record("heard") }
    token.pause()
    for _ in 0..<5 { state.value = Tracked(live) }
    // The value itself, and the one that the observer knew.
    #expect(live.current == 2)
    token.cancel()
    token.resume()
    #expect(live.current == 1)
    #expect(changes.values.isEmpty)
  }

  @Test(
    "K14 A pause before the first call: that call is made when it resumes", arguments: Way.allCases)
  func initial(way: Way) async throws {
    let events = state.events.observe { [state] event in
      guard event.kind == .registered else { return }
      for one in state.registrations { one.registration.pause() }
    }
    let skipped = recordSkipped()
    let token = follow(way, .initial)
    events.cancel()
    #expect(token.isPaused)
    state.value = 1
    state.value = 2
    // With the first call.
    _ = await skipped.values(count: 3)
    #expect(changes.values.isEmpty)
    token.resume()
    try await changes.expect("->2", within: patience)
    state.value = 3
    try await changes.expect("2>3", within: patience)
    withExtendedLifetime(token) {}
    #expect(changes.values == ["->2", "2>3"])
  }

  @Test("K14 distinct compares with the value that the observer received last, and so is old")
  func distinctFromReceived() {
    struct Reading: Sendable, Equatable {
      let number: Int
      static func == (one: Self, other: Self) -> Bool { abs(one.number - other.number) < 10 }
    }
    let state = CurrentValue(Reading(number: 0))
    let token = state.changes.observe(options: .distinct) { [changes] change in
      changes.record("\(change.old!.number)>\(change.new.number)")
    }
    for number in stride(from: 0, through: 30, by: 6) { state.value = Reading(number: number) }
    #expect(changes.values == ["0>12", "12>24"])
    withExtendedLifetime(token) {}
  }

  @Test("K14 once: what was missed is the one call")
  func once() {
    let token = follow(.immediate, .once)
    token.pause()
    state.value = 1
    state.value = 2
    #expect(token.isActive)
    token.resume()
    #expect(changes.values == ["0>2"])
    #expect(!token.isActive)
    state.value = 3
    #expect(changes.values == ["0>2"])
  }

  @Test("K14 An observer that sets, pauses or ends itself in its first call is told accordingly")
  func insideFirstCall() {
    let heard = Recorder<Int>()
    let paused = state.changes.observe(options: .initial) { [state] change in
      heard.record(change.new)
      guard change.isInitial else { return }
      state.value = 1
      state.registrations.first?.registration.pause()
    }
    #expect(heard.values == [0])
    paused.resume()
    #expect(heard.values == [0, 1])
    paused.cancel()
    let once = state.observe(options: [.initial, .once]) { [state] in
      heard.record($0)
      state.value = 2
    }
    #expect(!once.isActive)
    let finishing = state.observe(options: .initial) { [state] in
      heard.record($0)
      state.value = 3
      state.finish()
    }
    // What was set before the end is told.
    #expect(heard.values == [0, 1, 1, 2, 3])
    #expect(!finishing.isActive)
  }

  @Test("K16 An asynchronous observer of one call whose task cancels itself has had its call")
  func onceCancelsItself() async throws {
    let released = Recorder<Int>()
    let token = state.observeAsync(options: .once) {
      [held = OnRelease { released.record(1) }] _ in
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      try withExtendedLifetime(held) { try Task.checkCancellation() }
    }
    state.value = 2
    #expect(try await released.next(1, within: patience) == [1])
    #expect(state.observerCount == 0)
    withExtendedLifetime(token) {}
  }

  @Test("K13 An asynchronous observer that cancels its task in its first call hears what follows")
  func initialCancelsItself() async throws {
    let (gate, heard) = (AsyncGate(), Recorder<Int>())
    let token = state.observeAsync(options: .initial) { value in
      heard.record(value)
      if value != 0 { return }
      await gate.pass()
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      try Task.checkCancellation()
    }
    try await gate.reached(within: patience)
    state.value = 2
    gate.open()
    #expect(try await heard.next(2, within: patience) == [0, 2])
    state.value = 3
    #expect(try await heard.next(1, within: patience) == [3])
    withExtendedLifetime(token) {}
  }

  @Test("K14 A first call waits for its turn while another thread tells, and then comes once")
  func firstCallElsewhere() {
    let (gate, heard) = (Gate(), Recorder<Int>())
    let telling = state.observe { if $0 == 1 { gate.pass() } }
    let done = onThread { [state] in state.value = 1 }
    gate.waitUntilReached()
    let token = state.observe(options: .initial) { heard.record($0) }
    #expect(heard.values.isEmpty)
    state.value = 2
    gate.open()
    done()
    #expect(heard.values == [1, 2])
    withExtendedLifetime((telling, token)) {}
  }

  /// Whether an observer saw a chain that ends with the value of the state.
  private func checkChain(_ chain: [ValueChange<Int>], _ way: Way) {
    for (one, next) in zip(chain, chain.dropFirst()) {
      #expect(next.old == one.new, "\(way)")
      #expect(next.new > one.new, "\(way)")
    }
    #expect(chain.first?.old == 0, "\(way)")
    #expect(chain.last?.new == state.value, "\(way)")
  }

  @Test(
    "K14 Pausing and resuming while others set: no gap, no repeat, the newest value at the end",
    arguments: [2, 8])
  func race(width: Int) async throws {
    let ways: [Way] = [.immediate, .queued, .bounded, .asynchronous]
    let heard = ways.map { _ in Recorder<ValueChange<Int>>() }
    let source = state.changes
    let tokens = [
      source.observe { heard[0].record($0) },
      source.observe(on: queue.delivery) { heard[1].record($0) },
      source.observe(on: queue.delivery.buffered(.newest(3))) { heard[2].record($0) },
      source.observeAsync { heard[3].record($0) },
    ]
    onThreads(width) { [state] thread in
      for number in 0..<300 {
        if thread == 0 {
          let token = tokens[number % tokens.count]
          token.pause()
          state.update { $0 += 1 }
          token.resume()
        } else {
          state.update { $0 += 1 }
        }
      }
    }
    // What is told last comes to everybody.
    state.update { $0 += 1 }
    for recorder in heard {
      while recorder.values.last?.new != state.value { try await recorder.next(within: patience) }
    }
    for (index, recorder) in heard.enumerated() { checkChain(recorder.values, ways[index]) }
    withExtendedLifetime(tokens) {}
  }

  @Test(
    "K1 K14 An observer that begins while others set knows where it began, and misses nothing after",
    arguments: [2, 8])
  func beginning(width: Int) {
    onThreads(width) { [state] thread in
      for _ in 0..<300 {
        let seen = Recorder<ValueChange<Int>>()
        let token = state.changes.observe { seen.record($0) }
        let value = state.update { value in
          value += 1
          return value
        }
        token.cancel()
        guard let first = seen.values.first?.old else { continue }
        // It is told what was set after it had registered, one after the other.
        #expect(first < value)
        for (index, change) in seen.values.enumerated() {
          #expect(change == ValueChange(old: first + index, new: first + index + 1))
        }
      }
    }
  }
}
