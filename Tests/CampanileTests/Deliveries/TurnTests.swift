import Dispatch
import Synchronization
import Testing

@testable import Campanile

@Suite("K6 How long a job keeps its target", .ownThread)
struct TurnTests {
  private let source = Broadcaster<Int>()
  private let heard = Recorder<Int>()
  private let queue = TestQueue()

  /// Sends 5,000 messages on the queue, which is held until then, and a block behind the first.
  ///
  /// - Returns: How many were heard before the block ran.
  private func heardBeforeABlock() -> Int? {
    let seen = Slot<Int>()
    source.send(0)
    queue.queue.async { [heard] in seen.set(heard.count) }
    for number in 1..<5_000 { source.send(number) }
    queue.letGo()
    queue.flush()
    #expect(heard.values == Array(0..<5_000))
    return seen.value
  }

  @Test(
    "A block that is enqueued right after the first message of very many runs after 1,024 of them",
    arguments: [Buffering.unbounded, .newest(5_000)])
  func block(buffering: Buffering) {
    let token = source.observe(on: queue.delivery.buffered(buffering)) { [heard] in
      heard.record($0)
    }
    queue.hold()
    #expect(heardBeforeABlock() == 1_024)
    withExtendedLifetime(token) {}
  }

  @Test("A turn ends after 1,024 of others' messages too, though who asked for it has gone")
  func turnOfOneThatHasGone() {
    let other = Broadcaster<Int>()
    queue.hold()
    do {
      let first = other.observe(on: .queue(queue.queue)) { _ in }
      other.send(0)
      first.cancel()
    }
    let token = source.observe(on: .queue(queue.queue)) { [heard] in heard.record($0) }
    // The turn has the other message too.
    #expect(heardBeforeABlock() == 1_023)
    withExtendedLifetime(token) {}
  }

  @Test("K15 What waits behind a running observer is counted, whatever its job has taken")
  func waitingCount() {
    let (gate, counts) = (Gate(), Recorder<Int>())
    let delivery = queue.delivery
    let token = source.observe(on: delivery) { [counts] _ in
      gate.pass()
      counts.record(delivery.waitingCount)
    }
    queue.hold()
    for number in 0..<5 { source.send(number) }
    #expect(delivery.waitingCount == 5)
    queue.letGo()
    gate.waitUntilReached()
    #expect(delivery.waitingCount == 4)
    source.send(5)
    #expect(delivery.waitingCount == 5)
    gate.open()
    queue.flush()
    #expect(counts.values == [5, 4, 3, 2, 1, 0])
    #expect(delivery.waitingCount == 0)
    withExtendedLifetime(token) {}
  }

  @Test(
    "What is left of a batch keeps its place before what came later, and is waited for",
    arguments: [2, 8])
  func rest(width: Int) async throws {
    let token = source.observe(on: queue.delivery) { [heard] in heard.record($0) }
    queue.hold()
    for number in 0..<3_000 { source.send(number) }
    queue.letGo()
    onThreads(width) { [source] thread in
      for number in 0..<2_000 { source.send((thread + 1) * 10_000 + number) }
    }
    try await source.sendAndWait(-1)
    let values = heard.values
    #expect(values.count == 3_001 + width * 2_000)
    #expect(Array(values.prefix(3_000)) == Array(0..<3_000))
    #expect(values.last == -1)
    for thread in 1...width {
      let own = values.filter { $0 / 10_000 == thread }
      #expect(own == (0..<2_000).map { thread * 10_000 + $0 })
    }
    withExtendedLifetime(token) {}
  }

  /// A clock that goes on by one step whenever it is looked at.
  private final class StepClock: Sendable {
    let looks = Atomic<Int>(0)
    func now(_ step: UInt64) -> UInt64 {
      UInt64(looks.wrappingAdd(1, ordering: .relaxed).oldValue) * step
    }
  }

  @Test("Where time counts, a turn ends at the first look at the clock that is late enough")
  func time() {
    let clock = StepClock()
    // The third look after the beginning is the first that comes after four milliseconds.
    var budget = DrainBudget(atMost: DrainBudget.deliveryLimit) { clock.now(1_500_000) }
    var count = 0
    while !budget.isOver {
      let allowance = budget.allowance
      #expect(allowance == 1)
      budget.note(allowance)
      count += allowance
    }
    #expect(clock.looks.load(ordering: .relaxed) == 4)
    #expect(count == 3)
    #expect(QueueTarget.main.mailbox.clock != nil)
    #expect(Delivery.queue(.main).mailbox === QueueTarget.main.mailbox)
    #expect(QueueTarget(queue.queue).mailbox.clock == nil)
  }

  @Test("A timed mailbox gives its target back between two messages, and the rest goes on")
  func timed() {
    final class Timed: DeliveryTarget {
      let clock = StepClock()
      let mailbox: Mailbox
      let jobs = Recorder<DeliveryJob>()
      init() { mailbox = Mailbox(nil) { [clock] in clock.now(1_500_000) } }
      func enqueue(_ job: DeliveryJob) { jobs.record(job) }
    }
    let target = Timed()
    let tokens = [
      source.observe(on: .target(target)) { [heard] in heard.record($0) },
      source.observe(on: .target(target, buffering: .newest(64))) { [heard] in
        heard.record($0 + 100)
      },
    ]
    for number in 0..<30 { source.send(number) }
    target.jobs.values[0].run()
    #expect(heard.values == [100, 101, 102] || heard.values == [0, 1, 2])
    target.jobs.values[1].run()
    #expect(heard.values.count == 6)
    var next = 2
    while next < target.jobs.count {
      target.jobs.values[next].run()
      next += 1
    }
    #expect(heard.values.filter { $0 < 100 } == Array(0..<30))
    #expect(heard.values.filter { $0 >= 100 } == Array(100..<130))
    withExtendedLifetime(tokens) {}
  }

  // MARK: Asynchronous

  @Test("An asynchronous observer of a stream of values gives its thread away now and then")
  func asynchronous() async {
    let executor = ManualExecutor()
    let (mailbox, target) = (Mailbox(.unbounded, clock: nil), ManualTarget())
    let traits = ObserverTraits(location: CallSite(file: #fileID, line: #line))
    let observer = IndirectObserver<Int>(
      traits,
      deferred: { [heard] value, _, _, _ in
        heard.record(value)
        return nil
      }
    ) { value, post, id, list in mailbox.append(value, post, at: id, in: list, for: target) }
    _ = source.registry.add(observer) { [source] _, _ in source.list }
    for number in 0..<1_000 { source.send(number) }
    let drain = Task.detached(executorPreference: executor) {
      await mailbox.drain(.medium, inTaskOf: target)
    }
    let other = Task.detached(executorPreference: executor) { 1 }
    executor.runUntilIdle()
    _ = await (drain.value, other.value)
    #expect(heard.values == Array(0..<1_000))
    #expect(executor.ranCount > 1_000 / 64)
  }

  @Test("A reader of values that wait gives its thread away now and then")
  func sequence() async {
    let executor = ManualExecutor()
    let values = source.values()
    for number in 0..<1_000 { source.send(number) }
    let reader = Task.detached(executorPreference: executor) { [heard] in
      var iterator = values.makeAsyncIterator()
      for _ in 0..<1_000 { if let value = await iterator.next() { heard.record(value) } }
    }
    executor.runUntilIdle()
    await reader.value
    #expect(heard.values == Array(0..<1_000))
    #expect(executor.ranCount > 1_000 / 64)
  }
}
