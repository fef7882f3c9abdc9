import Testing

@testable import Campanile

@Suite("K10: the poster is never blocked, and can wait", .ownThread)
struct PostAndWaitTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()
  private let queue = TestQueue()

  /// Posts in a task, and waits until the post has come to the last observer, an immediate one.
  private func waiter() async -> Task<Void, any Error> {
    let posted = Inbox<Int>()
    let last = center.observe(Tick.self) { _ in posted.record(1) }
    let task = Task { [center] in try await center.postAndWait(Tick(number: 1)) }
    _ = await posted.values(count: 1)
    withExtendedLifetime(last) {}
    return task
  }

  @Test("K10 a wait of no task is no part of the call that begins it")
  func noPart() async throws {
    let token = center.messages(of: Tick.self).observeAsync { [heard] _ in
      heard.record(DeliveryTracker().waiters.count)
      heard.record(DeliveryTracker(isAwaited: false).waiters.count)
    }
    try await center.postAndWait(Tick(number: 1))
    #expect(heard.values == [1, 0])
    withExtendedLifetime(token) {}
  }

  @Test("K10 a post returns while its targets are held")
  func notBlocked() async {
    let statistics = Statistics()
    let token = center.observe(Tick.self, on: queue.delivery) { [heard] in heard.record($0.number) }
    center.observe(Tick.self, on: statistics) { $0.append($1.number) }
    queue.hold()
    center.post(Tick(number: 1))
    #expect(heard.values.isEmpty)
    queue.letGo()
    queue.flush()
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
  }

  @Test("K10 postAndWait returns when every delivery has run")
  func ran() async throws {
    let statistics = Statistics()
    let other = TestQueue("other")
    let tokens = [
      center.observe(Tick.self) { [heard] in heard.record($0.number) },
      center.observe(Tick.self, on: queue.delivery) { [heard] in heard.record($0.number) },
      center.observe(Tick.self, on: other.delivery.ordered) { [heard] in heard.record($0.number) },
      center.observe(Tick.self, on: other.delivery, buffering: .newest(1)) { [heard] in
        heard.record($0.number)
      },
      center.observe(Tick.self, on: .main) { [heard] in heard.record($0.number) },
      center.messages(of: Tick.self).observeAsync { [heard] tick in
        await Task.yield()
        heard.record(tick.number)
      },
      center.messages(of: Tick.self).observeAsync(execution: .concurrent) { [heard] tick in
        await Task.yield()
        heard.record(tick.number)
      },
    ]
    center.observe(Tick.self, on: statistics) { $0.append($1.number) }
    for number in 0..<20 {
      try await center.postAndWait(Tick(number: number))
      #expect(heard.values.filter { $0 == number }.count == 7)
      #expect(await statistics.numbers.last == number)
    }
    withExtendedLifetime(tokens) {}
  }

  @Test("K10 postAndWait about a subject waits for that subject's observers")
  func subject() async throws {
    let player = Player()
    let token = center.messages(of: LevelChanged.self, about: player).observe(on: queue.delivery) {
      [heard] in heard.record($0.level)
    }
    try await center.postAndWait(LevelChanged(level: 1), about: player)
    #expect(heard.values == [1])
    queue.hold()
    try await center.postAndWait(LevelChanged(level: 2))
    try await center.postAndWait(LevelChanged(level: 3), about: Player())
    queue.letGo()
    queue.flush()
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
  }

  @Test("K10 sendAndWait returns when every delivery has run")
  func broadcaster() async throws {
    let ticks = Broadcaster<Int>()
    let tokens = [
      ticks.observe(on: queue.delivery) { [heard] in heard.record($0) },
      ticks.observeAsync { [heard] in heard.record($0) },
    ]
    try await ticks.sendAndWait(1)
    #expect(heard.values == [1, 1])
    ticks.finish()
    try await ticks.sendAndWait(2)
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [1, 1])
  }

  /// What waits for a target, or runs in a task.
  enum Kind: CaseIterable, Sendable { case unbounded, bounded, oneAtATime, concurrent }

  @Test(
    "K10 who waits goes on when the call has returned, and not before", arguments: Kind.allCases)
  func notBeforeTheEnd(kind: Kind) async throws {
    let (gate, asyncGate) = (Gate(), AsyncGate())
    let token =
      switch kind {
      case .unbounded: center.observe(Tick.self, on: queue.delivery) { _ in gate.pass() }
      case .bounded:
        center.observe(Tick.self, on: queue.delivery, buffering: .newest(1)) { _ in gate.pass() }
      case .oneAtATime: center.messages(of: Tick.self).observeAsync { _ in await asyncGate.pass() }
      case .concurrent:
        center.messages(of: Tick.self).observeAsync(execution: .concurrent) { _ in
          await asyncGate.pass()
        }
      }
    let waiter = Task { @MainActor [center, heard] in
      try await center.postAndWait(Tick(number: 1))
      heard.record(1)
    }
    if kind == .unbounded || kind == .bounded {
      try await gate.reached(within: patience)
    } else {
      await asyncGate.waitUntilReached()
    }
    // The main actor comes to these after the waiter, if that could go on: it would have to come
    // from another thread first.
    for _ in 0..<1_000 {
      await Task.yield()
      await MainActor.run {}
    }
    #expect(heard.values == [])
    gate.open()
    asyncGate.open()
    try await waiter.value
    #expect(heard.values == [1])
    withExtendedLifetime(token) {}
  }

  @Test("K10 a delivery that was cancelled has ended")
  func cancelled() async throws {
    let token = center.observe(Tick.self, on: queue.delivery) { [heard] in heard.record($0.number) }
    let bounded = center.observe(Tick.self, on: queue.delivery, buffering: .newest(1)) {
      [heard] in heard.record($0.number)
    }
    queue.hold()
    let task = await waiter()
    token.cancel()
    bounded.cancel()
    queue.letGo()
    try await task.value
    #expect(heard.values.isEmpty)
  }

  @Test("K10 a bounded delivery that was cancelled has ended, its target still held")
  func boundedCancelled() async throws {
    let token = center.observe(Tick.self, on: queue.delivery, buffering: .newest(1)) {
      [heard] in heard.record($0.number)
    }
    queue.hold()
    let task = await waiter()
    token.cancel()
    try await task.value
    heard.record(-1)
    queue.letGo()
    queue.flush()
    #expect(heard.values == [-1])
  }

  @Test("K10 a delivery that is skipped by a pause has ended")
  func paused() async throws {
    let token = center.observe(Tick.self, on: queue.delivery) { [heard] in heard.record($0.number) }
    let async = center.messages(of: Tick.self).observeAsync { [heard] in heard.record($0.number) }
    token.pause()
    async.pause()
    try await center.postAndWait(Tick(number: 1))
    #expect(heard.values.isEmpty)
    withExtendedLifetime((token, async)) {}
  }

  @Test("K10 a delivery that was dropped for want of room has ended")
  func dropped() async throws {
    let token = center.observe(Tick.self, on: queue.delivery, buffering: .newest(1)) {
      [heard] in heard.record($0.number)
    }
    queue.hold()
    let task = await waiter()
    center.post(Tick(number: 2))
    try await task.value
    #expect(token.registration.droppedCount == 1)
    queue.letGo()
    queue.flush()
    #expect(heard.values == [2])
  }

  @Test("K10 a delivery whose owner has died has ended")
  func ownerDied() async throws {
    let slot = Slot<Screen>()
    slot.set(Screen())
    if let screen = slot.value {
      center.observe(Tick.self, owner: screen, on: queue.delivery) { [heard] _, tick in
        heard.record(tick.number)
      }
    }
    queue.hold()
    let task = await waiter()
    slot.set(nil)
    queue.letGo()
    try await task.value
    #expect(heard.values.isEmpty)
  }

  @Test("K10 a delivery to a target that ended has ended")
  func targetEnded() async throws {
    let target = ManualTarget()
    let tokens = [
      center.observe(Tick.self, on: .target(target)) { [heard] in heard.record($0.number) },
      center.observe(Tick.self, on: .target(target), buffering: .newest(1)) { [heard] in
        heard.record($0.number)
      },
    ]
    let task = await waiter()
    target.end()
    try await task.value
    withExtendedLifetime(tokens) {}
    #expect(heard.values.isEmpty)
  }

  @Test("K10 a delivery to an actor that died has ended")
  func actorDied() async throws {
    let live = LiveCount()
    actor Short {
      let tracked: Tracked
      init(_ live: LiveCount) { tracked = Tracked(live) }
    }
    func observe() { center.observe(Tick.self, on: Short(live)) { _, _ in } }
    observe()
    #expect(live.current == 0)
    try await center.postAndWait(Tick(number: 1))
  }

  @Test("K10 cancelling the waiter throws and undoes nothing")
  func waiterCancelled() async {
    let token = center.observe(Tick.self, on: queue.delivery) { [heard] in heard.record($0.number) }
    queue.hold()
    let task = await waiter()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(heard.values.isEmpty)
    queue.letGo()
    queue.flush()
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
  }

  @Test("K10 in a cancelled task the post is made all the same")
  func alreadyCancelled() async {
    let token = center.observe(Tick.self, on: queue.delivery) { [heard] in heard.record($0.number) }
    queue.hold()
    let gate = AsyncGate()
    let task = Task { [center] in
      await gate.pass()
      try await center.postAndWait(Tick(number: 1))
    }
    await gate.waitUntilReached()
    task.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await task.value }
    queue.letGo()
    queue.flush()
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
  }

  @Test("K10 in a cancelled task it does not throw once everything was delivered")
  func cancelledAfterAll() async throws {
    let token = center.observe(Tick.self) { [heard] in heard.record($0.number) }
    let task = Task { [center] in
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      try await center.postAndWait(Tick(number: 1))
    }
    try await task.value
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
  }

  @Test(
    "K10 inside an asynchronous observer it waits for the others, and not for that observer",
    arguments: [AsyncExecution.oneAtATime, .concurrent])
  func ownMailbox(execution: AsyncExecution) async throws {
    let done = Inbox<Int>()
    let token = center.messages(of: Tick.self).observeAsync(execution: execution) {
      [center, heard] tick in
      if tick.number < 3 {
        let (target, executor, atReturn) = (ManualTarget(), ManualExecutor(), Recorder<[Int]>())
        let other = center.observe(Tick.self, on: .target(target)) { heard.record($0.number) }
        Task(executorPreference: executor) {
          defer { atReturn.record(heard.values) }
          try await center.postAndWait(Tick(number: tick.number + 1))
        }
        // Until it waits.
        executor.runUntilIdle()
        while atReturn.count == 0 {
          target.runAll()
          executor.runUntilIdle()
          await Task.yield()
        }
        #expect(atReturn.values[0].contains(tick.number + 1))
        withExtendedLifetime(other) {}
      }
      done.record(tick.number)
    }
    try await center.postAndWait(Tick(number: 1))
    #expect(await done.values(count: 3).sorted() == [1, 2, 3])
    token.cancel()
  }

  @Test("K10 a concurrent observer that waits for a post does not wait for its own call of it")
  func ownConcurrentCall() async throws {
    let (gate, ended) = (AsyncGate(), Inbox<Int>())
    let token = center.messages(of: Tick.self).observeAsync(execution: .concurrent) {
      [center] tick in
      if tick.number == 1 {
        try await center.postAndWait(Tick(number: 2))
      } else {
        await gate.pass()
      }
      ended.record(tick.number)
      gate.open()
    }
    center.post(Tick(number: 1))
    try await ended.expect(1, 2, within: patience)
    withExtendedLifetime(token) {}
  }

  @Test("K10 many tasks wait for posts of their own", arguments: [1, 2, 8])
  func manyWaiters(width: Int) async throws {
    let tokens = [
      center.observe(Tick.self, on: queue.delivery) { [heard] in heard.record($0.number) },
      center.messages(of: Tick.self).observeAsync { [heard] in heard.record($0.number) },
    ]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<width {
        group.addTask { [center, heard] in
          for number in 0..<50 {
            let tick = Tick(number: task * 1_000 + number)
            try await center.postAndWait(tick)
            #expect(heard.values.filter { $0 == tick.number }.count == 2)
          }
        }
      }
      try await group.waitForAll()
    }
    withExtendedLifetime(tokens) {}
    #expect(heard.count == width * 100)
  }
}
