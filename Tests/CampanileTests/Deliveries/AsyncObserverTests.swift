import Testing

@testable import Campanile

@Suite("Asynchronous observers", .ownThread)
struct AsyncObserverTests {
  private let center = MessageCenter()
  private let heard = Inbox<Int>()

  @Test("K6 A8 One at a time, the next call begins when the last has returned")
  func oneAtATime() async throws {
    let gate = AsyncGate()
    let began = Inbox<Int>()
    let token = center.messages(of: Tick.self).observeAsync { [heard] tick in
      began.record(tick.number)
      await gate.pass()
      heard.record(tick.number)
    }
    center.post(Tick(number: 1))
    center.post(Tick(number: 2))
    await gate.waitUntilReached()
    #expect(began.values == [1])
    gate.open()
    #expect(await heard.values(count: 2) == [1, 2])
    withExtendedLifetime(token) {}
  }

  @Test("Cancelling cancels the running task")
  func cancels() async {
    let gate = AsyncGate()
    let states = Inbox<Bool>()
    let token = center.messages(of: Tick.self).observeAsync { _ in
      await gate.pass()
      states.record(Task.isCancelled)
    }
    center.post(Tick(number: 1))
    await gate.waitUntilReached()
    #expect(token.cancel() == .endedWhileMaybeRunning)
    gate.open()
    #expect(await states.values(count: 1) == [true])
  }

  @Test("K3 A8 After a cancel nothing that waits is called")
  func nothingAfterCancel() async {
    let gate = AsyncGate()
    let token = center.messages(of: Tick.self).observeAsync { [heard] tick in
      heard.record(tick.number)
      await gate.pass()
    }
    for number in 0..<5 { center.post(Tick(number: number)) }
    await gate.waitUntilReached()
    token.cancel()
    gate.open()
    #expect(await token.cancelAndWait() == .finished)
    #expect(heard.values == [0])
  }

  @Test("K8 An owner that is let go of is kept by the call that runs, and not by what waits")
  func keepsItsOwnerForACall() async throws {
    let (ticks, heard, gate) = (Broadcaster<Int>(), Recorder<Int>(), AsyncGate())
    // A weak reference would keep the owner whenever it is read.
    let gone = Recorder<Void>()
    var owner: Letting? = Letting(gone)
    let registration = ticks.observeAsync(owner: owner!) { _, tick in
      heard.record(tick)
      await gate.pass()
    }
    for number in 1...3 { ticks.send(number) }
    await gate.waitUntilReached()
    owner = nil
    #expect(gone.values.isEmpty)
    gate.open()
    try await gone.next(within: patience)
    _ = await registration.cancelAndWait()
    #expect(heard.values == [1])
  }

  private final class Letting: Sendable {
    private let gone: Recorder<Void>

    init(_ gone: Recorder<Void>) { self.gone = gone }

    deinit { gone.record(()) }
  }

  @Test("A task that is begun as its observer ends is cancelled too")
  func begunLate() async {
    let runner = AsyncRunner(.unbounded)
    let gate = AsyncGate()
    let states = Inbox<Bool>()
    runner.end()
    runner.start(.medium) {
      await gate.pass()
      states.record(Task.isCancelled)
    }
    gate.open()
    #expect(await states.values(count: 1) == [true])
  }

  @Test("K16 A task that has ended is not kept, however short it is")
  func endedTasks() async {
    let runner = AsyncRunner(.unbounded)
    for _ in 0..<100 { runner.start(.high) {} }
    for _ in 0..<1_000_000 where runner.taskCount > 0 { await Task.yield() }
    #expect(runner.taskCount == 0)
  }

  @Test("K4 Who waits for the calls of an observer is resumed once, when none runs")
  func resumedOnce() {
    let counters = DeliveryCounters()
    let resumed = LiveCount()
    counters.afterCalls { resumed.increment() }
    #expect(resumed.current == 1)
    for _ in 0..<2 { counters.beginCall() }
    for _ in 0..<3 { counters.afterCalls { resumed.increment() } }
    counters.endCall()
    #expect(resumed.current == 1 && counters.isRunning)
    counters.endCall()
    #expect(resumed.current == 4 && !counters.isRunning)
    counters.beginCall()
    counters.endCall()
    #expect(resumed.current == 4)
  }

  @Test("cancelAndWait and cancelAndWait inside an asynchronous observer return at once")
  func insideObserver() async {
    let waits = Inbox<Registration.Wait>()
    let slot = Slot<ObservationToken>()
    let token = center.messages(of: Tick.self).observeAsync { _ in
      guard let token = slot.value else { return }
      waits.record(await token.cancelAndWait())
      @Sendable func wait() -> Registration.Wait { token.cancelAndWait() }
      waits.record(wait())
    }
    slot.set(token)
    center.post(Tick(number: 1))
    #expect(await waits.values(count: 2) == [.insideObserver, .insideObserver])
    slot.set(nil)
  }

  @Test("Observers on an actor are not part of the asynchronous call that posted to it")
  func notPartOfTheCall() async {
    let statistics = Statistics()
    let waits = Inbox<Registration.Wait>()
    let other = center.observe(Tick.self) { _ in }
    center.observe(Tock.self, on: statistics) { _, _ in
      Task { waits.record(await other.cancelAndWait()) }
    }
    let token = center.messages(of: Tick.self).observeAsync { [center] _ in center.post(Tock()) }
    center.post(Tick(number: 1))
    #expect(await waits.values(count: 1) == [.finished])
    withExtendedLifetime((token, statistics)) {}
  }

  @Test("Being cancelled is no failure of the observer")
  func cancellationIsNoFailure() async {
    let center = MessageCenter()
    let failures = Recorder(observing: center.failures)
    let gate = AsyncGate()
    let token = center.messages(of: Tick.self).observeAsync { _ in
      await gate.pass()
      try Task.checkCancellation()
    }
    center.post(Tick(number: 1))
    await gate.waitUntilReached()
    token.cancel()
    gate.open()
    _ = await token.cancelAndWait()
    #expect(failures.values.isEmpty)
  }

  @Test(
    "The task of the only call is not canceled by the end that it brings")
  func onceIsNotCanceled() async throws {
    let (ticks, canceled) = (Broadcaster<Int>(), Inbox<Bool>())
    let token = ticks.observeAsync(options: .once) { _ in
      await Task.yield()
      canceled.record(Task.isCancelled)
    }
    ticks.send(1)
    #expect(await canceled.values(count: 1) == [false])
    #expect(await token.cancelAndWait() == .finished)
    #expect(!token.isActive && ticks.observerCount == 0)
  }

  #if DEBUG
    @Test(
      "K3 A call whose task has not begun it is not begun after a cancel")
    func canceledBeforeItsCall() async throws {
      let (slot, cancellations) = (Slot<ObservationToken>(), Inbox<Registration.Cancellation>())
      let checks = LiveCount()
      // Who sends checks the registration first, then the task does.
      let registry = ObserverRegistry(probe: { checkpoint in
        guard checkpoint == .willCheck else { return }
        checks.increment()
        if checks.current == 2, let token = slot.value { cancellations.record(token.cancel()) }
      })
      let source = Broadcaster<Int>(registry: registry)
      let token = source.observeAsync { [heard] in heard.record($0) }
      slot.set(token)
      source.send(1)
      _ = try await cancellations.next(within: patience)
      #expect(await token.cancelAndWait() == .finished)
      #expect(heard.values == [])
      slot.set(nil)
    }

    @Test("K16 What waits behind the only call is given up when that call begins")
    func onceKeepsNothingWaiting() async throws {
      let (gates, call, life) = (CheckpointGates(), AsyncGate(), LiveCount())
      let source = Broadcaster<Tracked>(registry: gates.makeRegistry())
      let token = source.observeAsync(options: .once) { _ in await call.pass() }
      // Who sends checks the registration first, and is let through; its task is held there.
      let passage = Gate()
      passage.open()
      gates.hold(at: .engine(.willCheck), gate: passage)
      let arrival = gates.hold(at: .willCheck)
      // A failure leaves no thread of the pool held.
      defer { arrival.open() }
      source.send(Tracked(LiveCount()))
      // Not blocking: the task that comes here may need this thread.
      try await arrival.reached(within: patience)
      for _ in 0..<3 { source.send(Tracked(life)) }
      #expect(life.current == 3)
      arrival.open()
      try await call.reached(within: patience)
      #expect(life.current == 0)
      call.open()
      withExtendedLifetime(token) {}
    }
  #endif

  @Test(
    "K4 Whoever hears of the end of the only call is inside it, and is not made to wait for it")
  func onceEndsInside() async {
    let waits = Inbox<Registration.Wait>()
    let ending = Locked<ObservationToken?>(nil)
    let center = MessageCenter()
    let events = center.events.observe { event in
      guard event.kind == .ended, let token = ending.withLock({ $0.take() }) else { return }
      waits.record(token.cancelAndWait())
    }
    let token = center.messages(of: Tick.self).observeAsync(options: .once) {
      _ in
    }
    ending.withLock { $0 = token }
    center.post(Tick(number: 1))
    #expect(await waits.values(count: 1) == [.insideObserver])
    withExtendedLifetime((token, events)) {}
  }
}
