import Testing

@testable import Campanile

@Suite("How urgent a delivery is", .ownThread)
struct PriorityTests {
  private let source = Broadcaster<Int>()
  private let heard = Recorder<Int>()

  /// A target that keeps its jobs, and runs them one after the other when it is told to.
  private final class Kept: DeliveryTarget {
    let mailbox = Mailbox()
    let jobs = Recorder<DeliveryJob>()
    func enqueue(_ job: DeliveryJob) { jobs.record(job) }
    var priorities: [TaskPriority] { jobs.values.map(\.priority) }
  }

  private let target = Kept()

  private func post(_ value: Int, _ priority: TaskPriority) async {
    await post(value..<value + 1, priority)
  }

  private func post(_ values: Range<Int>, _ priority: TaskPriority) async {
    let done = AsyncStream<Void>.makeStream()
    // Nobody waits for the task itself, which would raise it.
    Task.detached(priority: priority) { [source] in
      for value in values { source.send(value) }
      done.continuation.finish()
    }
    for await _ in done.stream {}
  }

  @Test(
    "A more urgent post brings one more job at its priority, and no other post does",
    arguments: [Buffering.unbounded, .newest(64)])
  func raises(buffering: Buffering) async {
    let token = source.observe(on: .target(target, buffering: buffering)) { [heard] in
      heard.record($0)
    }
    await post(1, .background)
    await post(2, .background)
    await post(3, .high)
    await post(4, .high)
    await post(5, .medium)
    #expect(target.priorities == [.background, .high])
    target.jobs.values[1].run()
    #expect(heard.values == [1, 2, 3, 4, 5])
    // The first job is still on its way: it will do for what is no more urgent.
    await post(6, .background)
    #expect(target.jobs.count == 2)
    target.jobs.values[0].run()
    #expect(heard.values == [1, 2, 3, 4, 5, 6])
    await post(7, .background)
    #expect(target.priorities == [.background, .high, .background])
    target.jobs.values[2].run()
    #expect(heard.values == [1, 2, 3, 4, 5, 6, 7])
    withExtendedLifetime(token) {}
  }

  @Test(
    "K6 Of two jobs that a concurrent target runs at once, one delivers",
    arguments: [Buffering.unbounded, .newest(64)])
  func oneAtATime(buffering: Buffering) async {
    let gate = Gate()
    let overlap = OverlapDetector()
    let token = source.observe(on: .target(target, buffering: buffering)) { [heard] value in
      overlap.run {
        if value == 1 { gate.pass() }
        heard.record(value)
      }
    }
    await post(1, .background)
    await post(2, .high)
    let jobs = target.jobs.values
    let first = onThread { jobs[0].run() }
    gate.waitUntilReached()
    jobs[1].run()
    #expect(heard.values.isEmpty)
    gate.open()
    first()
    #expect(heard.values == [1, 2])
    #expect(!overlap.hasOverlapped)
    withExtendedLifetime(token) {}
  }

  @Test("What a job leaves goes on as urgently as the most urgent post that came meanwhile")
  func urgentDuringDrain() async {
    let gate = Gate()
    let token = source.observe(on: .target(target)) { [heard] value in
      if value == 0 { gate.pass() }
      heard.record(value)
    }
    await post(0..<1_500, .background)
    let job = target.jobs.values[0]
    let draining = onThread { job.run() }
    gate.waitUntilReached()
    await post(1_500, .high)
    await post(1_501, .low)
    gate.open()
    draining()
    #expect(target.priorities == [.background, .high])
    target.jobs.values[1].run()
    #expect(heard.values == Array(0..<1_502))
    // What comes later is as urgent as it is.
    await post(1_502, .background)
    #expect(target.priorities == [.background, .high, .background])
    withExtendedLifetime(token) {}
  }

  /// Keeps the jobs of an actor until a test runs them, the most urgent one first.
  private final class KeepingExecutor: SerialExecutor {
    private let jobs = Locked<[UnownedJob]>([])
    let kept = Recorder<TaskPriority>()

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.withLock { $0.append(job) }
      kept.record(TaskPriority(rawValue: job.priority.rawValue))
    }

    func run() {
      let waiting = jobs.withLock { jobs in
        defer { jobs = [] }
        return jobs
      }
      for job in waiting.sorted(by: { $0.priority.rawValue > $1.priority.rawValue }) {
        // SAFETY: the executor lives for as long as this runs.
        unsafe job.runSynchronously(on: asUnownedSerialExecutor())
      }
    }
  }

  /// An actor that has its turn when a test says so.
  private actor Busy {
    let executor = KeepingExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe executor.asUnownedSerialExecutor()
    }
  }

  @Test("A message that is posted urgently is heard urgently on a busy actor")
  func actor() async throws {
    let busy = Busy()
    let priorities = Recorder<TaskPriority>()
    source.observe(on: busy) { [heard] _, value in
      priorities.record(Task.currentPriority)
      heard.record(value)
    }
    await post(1, .background)
    await post(2, .high)
    // Both wait for the actor, in whatever order they have come there.
    #expect(await busy.executor.kept.values(count: 2).max() == .high)
    onThread { busy.executor.run() }()
    try await heard.expect(1, 2, within: patience)
    #expect(priorities.values.last.map { $0 >= .high } == true)
  }

  @Test("An asynchronous observer hears a message that is posted urgently in an urgent task")
  func asynchronous() async throws {
    let gate = AsyncGate()
    let priorities = Recorder<TaskPriority>()
    let token = source.observeAsync { [heard] value in
      priorities.record(Task.currentPriority)
      if value == 1 { await gate.pass() }
      heard.record(value)
    }
    await post(1, .background)
    await gate.waitUntilReached()
    await post(2, .high)
    gate.open()
    try await heard.expect(1, 2, within: patience)
    #expect(priorities.values.last.map { $0 >= .high } == true)
    withExtendedLifetime(token) {}
  }
}
