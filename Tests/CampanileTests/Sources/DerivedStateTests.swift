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
    let token = ten.observe(options: .initial) { changes.record($0) }
    #expect(ten.value == 10)
    number.value = 2
    #expect(ten.value == 20)
    number.update { $0 += 1 }
    #expect(changes.values.map(\.new) == [10, 20, 30])
    #expect(changes.values.map(\.old) == [nil, 10, 20])
    #expect(changes.values.map(\.isInitial) == [true, false, false])
    withExtendedLifetime(token) {}
  }

  @Test("distinct compares what the closure made, and once is used up by what got through")
  func distinct() {
    let isBig = number.map { $0 > 2 }
    let all = isBig.observe { [heard] _ in heard.record(1) }
    let distinct = isBig.observe(options: [.initial, .distinct]) { [heard] in
      heard.record($0.new ? 20 : 10)
    }
    let first = isBig.observe(options: [.once, .distinct]) { [heard] in
      heard.record($0.new ? 200 : 100)
    }
    number.value = 2
    number.value = 3
    number.value = 4
    #expect(heard.values == [10, 1, 1, 20, 200, 1])
    #expect(!first.isActive)
    withExtendedLifetime((all, distinct)) {}
  }

  @Test("A mapped state of a mapped state, read-only views and sequences of them")
  func chained() async {
    let text = number.readOnly.map { $0 * 10 }.map { "\($0)" }
    let sequence = text.values(options: .initial)
    number.value = 2
    number.finish()
    #expect(await all(sequence).map(\.new) == ["10", "20"])
    #expect(text.readOnly.value == "20")
  }

  // MARK: combined

  @Test("A combined state has both values, and a change for each change of one of them")
  func combined() {
    let name = CurrentValue("a")
    let both = number.combined(with: name)
    let told = Recorder<String>()
    let token = both.observe(options: .initial) { change in
      let old = change.old.map { "\($0.0)\($0.1)" } ?? "nothing"
      told.record("\(old) \(change.new.0)\(change.new.1)")
    }
    number.value = 2
    name.value = "b"
    #expect(both.value == (2, "b"))
    #expect(told.values == ["nothing 1a", "1a 2a", "2a 2b"])
    withExtendedLifetime(token) {}
  }

  @Test(
    "A combined state keeps the two states, and its observers do not", arguments: [true, false])
  func combinedKeeps(isKept: Bool) {
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

  @Test("K14 The last change of a combined state carries both newest values", arguments: [2, 8])
  func combinedRace(width: Int) {
    let other = CurrentValue(0)
    let both = number.combined(with: other)
    let changes = Recorder<ValueChange<(Int, Int)>>()
    let token = both.observe(options: .initial) { changes.record($0) }
    onThreads(width) { thread in
      for step in 1...200 {
        if thread.isMultiple(of: 2) {
          number.value = thread * 1_000 + step
        } else {
          other.value = thread * 1_000 + step
        }
      }
    }
    let values = changes.values
    #expect(values.count == width * 200 + 1)
    #expect(values.last!.new == (number.value, other.value))
    for (one, next) in zip(values, values.dropFirst()) { #expect(next.old! == one.new) }
    withExtendedLifetime(token) {}
  }

  @Test("K13 What a follower of a combined state throws is reported by both states, once each")
  func combinedFailures() {
    let other = CurrentValue(1)
    let reports = [number, other].map { Recorder(observing: $0.failures) }
    let twice = number.map { $0 * 2 }.combined(with: number).combined(with: other.readOnly)
    let token = twice.observe { _ in throw CancellationError() }
    number.value = 2
    for report in reports {
      #expect(report.values.map { $0.error is CancellationError } == [true, true])
    }
    withExtendedLifetime(token) {}
  }

  @Test("K15 What a combined state observes is described as that, with the line that made it")
  func combinedDescribed() {
    let line = #line + 1
    let both = number.combined(with: CurrentValue(1))
    let described = number.registrations
    #expect(described.map(\.line) == [line])
    #expect(described[0].description.contains("on behalf of a derived state"))
    withExtendedLifetime(both) {}
  }

  @Test("A combined state ends when both have ended, and its sequences with it")
  func combinedEnds() async {
    let other = CurrentValue(0)
    let both = number.combined(with: other)
    let token = both.observe { [heard] in heard.record($0.new.1) }
    let sequence = both.values()
    number.finish()
    other.value = 1
    #expect(token.isActive)
    other.finish()
    #expect(!token.isActive)
    #expect(await all(sequence).map(\.new.1) == [1])
    #expect(heard.values == [1])
  }

  @Test("A combined state tells the last value of a state that has ended, and reads what it is now")
  func combinedValueAfterEnd() {
    let other = CurrentValue(0)
    let both = number.combined(with: other)
    let changes = Recorder<ValueChange<(Int, Int)>>()
    number.finish()
    number.value = 2
    let token = both.observe(options: .initial) { changes.record($0) }
    other.value = 5
    #expect(changes.values.map(\.new.0) == [1, 1])
    #expect(changes.values.map(\.new.1) == [0, 5])
    #expect(both.value == (2, 5))
    withExtendedLifetime(token) {}
  }

  @Test("A sequence of a combined state that is not kept itself can be read again")
  func combinedReadAgain() async {
    let other = CurrentValue(0)
    let changes = number.combined(with: other).values()
    number.value = 2
    for await change in changes {
      heard.record(change.new.0)
      break
    }
    var again = changes.makeAsyncIterator()
    other.value = 3
    number.finish()
    other.finish()
    while let change = await again.next() { heard.record(change.new.1) }
    #expect(heard.values == [2, 3])
  }

  @Test("K16 A combined state that nobody has or observes any more follows nothing")
  func combinedReleased() {
    let other = CurrentValue(0)
    var both: ReadOnlyState<(Int, Int)>? = number.combined(with: other)
    #expect(number.observerCount == 1)
    let token = both!.observe { [heard] in heard.record($0.new.1) }
    both = nil
    other.value = 1
    #expect(heard.values == [1])
    #expect(number.observerCount == 1)
    token.cancel()
    #expect(number.observerCount == 0)
    #expect(other.observerCount == 0)
    withExtendedLifetime(both) {}
  }

  @Test("K7 A value that a combined state lets go of may use the states in its deinit")
  func combinedReleasesOutsideLocks() {
    let other = CurrentValue(0)
    let state = CurrentValue<OnRelease?>(nil)
    let both = state.combined(with: other)
    state.value = OnRelease { [heard] in
      other.value += 1
      heard.record(both.value.1)
    }
    state.value = nil
    #expect(heard.values == [1])
    state.finish()
    other.finish()
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
      heard.record($0.new?.number ?? 0)
    }
    center.post(Tick(number: 3))
    #expect(heard.values == [2, 3])
    #expect(latest.value == Tick(number: 3))
    #expect(center.observerCount == 1)
    withExtendedLifetime(token) {}
  }

  @Test("The last message outlives the center, the observations of it do not")
  func latestEnds() {
    var center: MessageCenter? = MessageCenter()
    let latest = center!.latest(of: Tick.self)
    let token = latest.observe { [heard] in heard.record($0.new?.number ?? 0) }
    center!.post(Tick(number: 1))
    center = nil
    #expect(!token.isActive)
    #expect(latest.value == Tick(number: 1))
    #expect(heard.values == [1])
    withExtendedLifetime(center) {}
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
    let token = after.observe(options: .initial) { [heard] in heard.record($0.new?.number ?? 0) }
    center.post(Tick(number: 3))
    #expect(heard.values == [0, 3])
    #expect(center.latest(of: Tick.self).value == Tick(number: 3))
    #expect(center.observerCount == 1)
    withExtendedLifetime(token) {}
  }

  @Test("K14 The last message of a type is read, though the center finishes while one is delivered")
  func finishedDuringDelivery() async throws {
    let (center, inside) = (MessageCenter(), Gate())
    let latest = center.latest(of: Tick.self)
    let values = latest.values()
    let token = latest.observe { _ in inside.pass() }
    let first = onThread { center.post(Tick(number: 1)) }
    inside.waitUntilReached()
    center.post(Tick(number: 2))
    center.finish()
    inside.open()
    first()
    let read = Recorder(reading: values.map { $0.new?.number })
    try await read.expect(1, within: patience)
    try await read.expect(2, within: patience)
    try await read.expectEnd(within: patience)
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

  @Test(
    "K10 Who waits for a post waits until its message is the last, and not for who follows that")
  func latestWaitedFor() async throws {
    let (center, target) = (MessageCenter(), ManualTarget())
    let latest = center.latest(of: Tick.self)
    let token = latest.observe(on: target.delivery) { [heard] in
      heard.record($0.new?.number ?? 0)
    }
    try await center.postAndWait(Tick(number: 1))
    #expect(latest.value == Tick(number: 1))
    #expect(heard.values == [])
    target.runJobs()
    #expect(heard.values == [1])
    withExtendedLifetime(token) {}
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
