import Dispatch
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

  @Test("K10 A7 A busy queue does not block the poster, and from A to B to A messages arrive")
  func backAndForth() async {
    let (other, places) = (TestQueue("other"), Inbox<String>())
    let tokens = [
      center.observe(Tick.self, on: queue.delivery) { [center] _ in
        places.record("A")
        center.post(Tock())
      },
      center.observe(Tock.self, on: other.delivery) { [center] _ in
        places.record("B")
        center.post(LevelChanged(level: 1))
      },
      center.observe(LevelChanged.self, on: queue.delivery) { _ in places.record("A again") },
    ]
    queue.hold()
    center.post(Tick(number: 1))
    #expect(places.values.isEmpty)
    queue.letGo()
    #expect(await places.values(count: 3) == ["A", "B", "A again"])
    withExtendedLifetime(tokens) {}
  }

  @Test("K11 A7 The queue is held strongly for as long as the registration lives, and delivers")
  func queueIsKept() async {
    let (place, places) = (DispatchSpecificKey<String>(), Inbox<String>())
    func observe() -> ObservationToken {
      let queue = DispatchQueue(label: "short-lived")
      queue.setSpecific(key: place, value: "on the queue")
      return center.observe(Tick.self, on: .queue(queue)) { _ in
        places.record(DispatchQueue.getSpecific(key: place) ?? "elsewhere")
      }
    }
    let token = observe()
    center.post(Tick(number: 1))
    #expect(await places.values(count: 1) == ["on the queue"])
    withExtendedLifetime(token) {}
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

  /// What waits for a target, or runs in a task.
  enum Kind: CaseIterable, Sendable { case unbounded, bounded, asynchronous }

  @Test(
    "K10 who waits goes on when the call has returned, and not before", arguments: Kind.allCases)
  func notBeforeTheEnd(kind: Kind) async throws {
    let (gate, asyncGate) = (Gate(), AsyncGate())
    let token =
      switch kind {
      case .unbounded: center.observe(Tick.self, on: queue.delivery) { _ in gate.pass() }
      case .bounded:
        center.observe(Tick.self, on: queue.delivery.buffered(.newest(1))) { _ in gate.pass() }
      case .asynchronous:
        center.messages(of: Tick.self).observeAsync { _ in await asyncGate.pass() }
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

  /// What becomes of a delivery that is never made.
  enum Fate: CaseIterable, Sendable { case cancelled, boundedCancelled, dropped, ownerDied, ended }

  @Test(
    "K10 a delivery that is not made any more has ended, and is waited for no longer",
    arguments: Fate.allCases)
  func notMade(fate: Fate) async throws {
    let (target, owner) = (ManualTarget(), Slot<Screen>())
    owner.set(Screen())
    let buffering = fate == .boundedCancelled || fate == .dropped ? Buffering.newest(1) : .unbounded
    let registration = center.observe(
      Tick.self, owner: owner.value!, on: target.delivery.buffered(buffering)
    ) { [heard] in heard.record($1.number) }
    let task = await waiter()
    switch fate {
    case .cancelled, .boundedCancelled: registration.cancel()
    case .dropped: center.post(Tick(number: 2))
    case .ownerDied: owner.set(nil)
    case .ended: target.end()
    }
    // What is bounded has ended while its target is still held.
    if fate == .cancelled || fate == .ownerDied { target.runJobs() }
    try await task.value
    target.runJobs()
    #expect(heard.values == (fate == .dropped ? [2] : []))
    #expect(registration.droppedCount == (fate == .dropped ? 1 : 0))
    owner.set(nil)
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
    "K10 inside an asynchronous observer it waits for the others, and not for that observer")
  func ownMailbox() async throws {
    let done = Inbox<Int>()
    let token = center.messages(of: Tick.self).observeAsync {
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
        await eventually {
          target.runAll()
          executor.runUntilIdle()
          return atReturn.count > 0
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

  @Test(
    "K10 postAndWait waits for a delivery that is held open, until it is ended or released",
    arguments: [true, false])
  func held(ends: Bool) async throws {
    let hold = Locked<HeldDelivery?>(nil)
    let isHeld = Inbox<Bool>()
    let registration = center.observeInPlace(Tick.self, file: #fileID, line: #line) { _, post in
      let held = post.hold()
      hold.withLock { $0 = held }
      isHeld.record(held != nil)
    }
    center.post(Tick(number: 1))
    let wait = Task { [center, heard] in
      try await center.postAndWait(Tick(number: 2))
      heard.record(2)
    }
    #expect(await isHeld.values(count: 2) == [false, true])
    heard.record(1)
    if ends { hold.withLock { $0 }?.end() } else { release(hold) }
    try await wait.value
    #expect(heard.values == [1, 2])
    registration.cancel()
  }

  private func release(_ hold: borrowing Locked<HeldDelivery?>) {
    _ = hold.withLock { $0.take() }
  }
}
