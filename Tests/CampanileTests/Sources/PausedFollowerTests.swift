import Testing

@testable import Campanile

@Suite("K14: followers that are paused", .ownThread)
struct PausedFollowerTests {
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
    case immediate, queued, ordered, bounded, main, asynchronous, boundedAsynchronous, concurrent
  }

  private func follow(_ way: Way, _ options: ObservationOptions<CurrentValue<Int>> = [])
    -> ObservationToken
  {
    let body = record()
    return switch way {
    case .immediate: state.observe(options: options) { body($0) }
    case .queued: state.observe(on: queue.delivery, options: options) { body($0) }
    case .ordered: state.observe(on: queue.delivery.ordered, options: options) { body($0) }
    case .bounded:
      state.observe(on: queue.delivery, buffering: .newest(4), options: options) { body($0) }
    case .main: state.observe(on: .main, options: options) { body($0) }
    case .asynchronous: state.observeAsync(options: options) { body($0) }
    case .boundedAsynchronous:
      state.observeAsync(buffering: .newest(4), options: options) { body($0) }
    case .concurrent: state.observeAsync(execution: .concurrent, options: options) { body($0) }
    }
  }

  /// Records the calls that are not made because of a pause.
  private func recordSkipped() -> Recorder<SourceEvent> {
    let calls = Recorder<SourceEvent>()
    state.events.observe { if $0.kind == .skipped { calls.record($0) } }.store(in: tokens)
    return calls
  }

  @Test("K14 The initial call is made though an older change has taken the place of its request")
  func requestLostWithOlderChange() throws {
    let target = ManualTarget()
    let token = state.observe(on: .target(target), buffering: .newest(1), options: .initial) {
      [body = record()] in body($0)
    }
    token.pause()
    target.runAll()
    state.set(2, skipping: token.registration)
    token.resume()
    let registration = token.registration
    let observer = try #require(registration.list.registry.observer(of: registration))
    let keeper = try #require(observer.details?.skipKeeper)
    // As if a thread that is late had sent its change, which the follower was to hear before.
    #expect(keeper.forget(ValueChange<Int>.resumption(2), of: observer))
    let late = ValueChange(old: 0, new: 1, revision: 1)
    #expect(keeper.admit(late, to: observer, isArrival: true)?.isInitial == true)
  }

  @Test("K14 Changes that are missed in another order are told as one, from the first to the last")
  func missedInAnotherOrder() {
    var missed = MissedChanges<Int>.StateMachine()
    for revision in [2, 3, 1] as [UInt64] {
      missed.miss(ValueChange(old: Int(revision) - 1, new: Int(revision), revision: revision))
    }
    #expect(missed.end().map(Self.text) == "0>3")
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

  @Test(
    "K14 A follower whose request to go on was discarded is told when it resumes again",
    arguments: [Way.queued, .bounded])
  func discardedRequest(way: Way) {
    let (target, body) = (ManualTarget(), record())
    let token =
      way == .bounded
      ? state.observe(on: .target(target), buffering: .newest(4)) { body($0) }
      : state.observe(on: .target(target)) { body($0) }
    state.value = 1
    token.pause()
    target.runAll()
    // As if an operation queue canceled its operations.
    func resumeInVain() {
      token.resume()
      #expect(target.takeJob() != nil)
      target.runAll()
    }
    resumeInVain()
    token.pause()
    resumeInVain()
    #expect(changes.values.isEmpty)
    token.pause()
    token.resume()
    target.runAll()
    #expect(changes.values == ["0>1"])
    state.value = 2
    token.pause()
    target.runAll()
    token.resume()
    target.runAll()
    #expect(changes.values == ["0>1", "1>2"])
    #expect(token.registration.droppedCount == 0)
  }

  @Test("K12 A request that is discarded with a dead owner's observation counts as no value")
  func discardedRequestOfDead() {
    let (target, body) = (ManualTarget(), record())
    var owner: Player? = Player()
    let registration = state.observe(
      owner: owner!, on: .target(target), buffering: .newest(4)
    ) { body($1) }
    state.value = 1
    registration.pause()
    target.runAll()
    registration.resume()
    owner = nil
    #expect(target.takeJob() != nil)
    #expect(!registration.isActive)
    #expect(registration.droppedCount == 0)
    #expect(changes.values.isEmpty)
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
    state.observe(owner: screen) { [bag] screen, change in
      screen.heard.record(change.new)
      if change.new == 2 { bag.cancel() }
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

  @Test("K3 K14 A follower that is ended in the pause is told nothing, and keeps no value")
  func ended() {
    let live = LiveCount()
    let state = CurrentValue(Tracked(live))
    let token = state.observe { [changes] _ in changes.record("heard") }
    token.pause()
    for _ in 0..<5 { state.value = Tracked(live) }
    // The value itself, and the one that the follower knew.
    #expect(live.current <= 3)
    token.cancel()
    token.resume()
    #expect(live.current == 1)
    #expect(changes.values.isEmpty)
  }

  @Test(
    "K14 A pause before the initial call: that call is made when it resumes",
    arguments: Way.allCases)
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
    // With the initial call.
    _ = await skipped.values(count: 3)
    #expect(changes.values.isEmpty)
    token.resume()
    try await changes.expect("->2", within: patience)
    state.value = 3
    try await changes.expect("2>3", within: patience)
    withExtendedLifetime(token) {}
    #expect(changes.values == ["->2", "2>3"])
  }

  @Test("K14 A pause in the initial call of a task: what it missed is told when it resumes")
  func initialUnderWay() async throws {
    let gate = AsyncGate()
    let token = state.observeAsync(options: .initial) { [body = record()] change in
      if change.isInitial { await gate.pass() }
      body(change)
    }
    await gate.waitUntilReached()
    token.pause()
    state.value = 1
    state.value = 2
    gate.open()
    try await changes.expect("->0", within: patience)
    token.resume()
    try await changes.expect("0>2", within: patience)
    state.value = 3
    try await changes.expect("2>3", within: patience)
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

  @Test("K14 A sequence of a state that was paused reads one change for what it missed")
  func sequence() async {
    var values = state.values(options: .initial).makeAsyncIterator()
    state.value = 1
    for one in state.registrations { one.registration.pause() }
    for value in 2...4 { state.value = value }
    for one in state.registrations { one.registration.resume() }
    state.value = 5
    var texts: [String] = []
    for _ in 0..<4 { if let change = await values.next() { texts.append(Self.text(change)) } }
    #expect(texts == ["->0", "0>1", "1>4", "4>5"])
  }

  @Test("K14 A paused follower that is skipped and resumed inside a call is told nothing older")
  func skippedInsideACall() {
    let slot = Slot<ObservationToken>()
    let act = { @Sendable [state, slot] (change: ValueChange<Int>) in
      guard change.new == 1, let token = slot.value else { return }
      state.set(2, skipping: token.registration)
      token.resume()
    }
    let before = state.observe { act($0) }
    let token = follow(.immediate)
    slot.set(token)
    token.pause()
    state.value = 1
    #expect(changes.values == [])
    before.cancel()
    let after = state.observe { act($0) }
    token.pause()
    state.value = 1
    #expect(changes.values == [])
    state.value = 3
    #expect(changes.values == ["2>3"])
    withExtendedLifetime(after) {}
    slot.set(nil)
  }

  @Test("K14 A paused follower that is skipped keeps the later changes that it has missed already")
  func skippedLate() throws {
    let token = follow(.immediate)
    token.pause()
    for value in 1...4 { state.value = value }
    let observer = try #require(token.registration.live?.observer)
    let missed = try #require(observer.details?.skipKeeper as? MissedChanges<Int>)
    missed.omit(ValueChange(old: nil, new: 2, revision: 2), for: observer)
    token.resume()
    #expect(changes.values == ["2>4"])
  }

  /// Whether the followers of one state saw a chain that ends with its value.
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
    let tokens = [
      state.observe { heard[0].record($0) },
      state.observe(on: queue.delivery) { heard[1].record($0) },
      state.observe(on: queue.delivery, buffering: .newest(100_000)) { heard[2].record($0) },
      state.observeAsync { heard[3].record($0) },
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
}
