import Dispatch
import Testing

@testable import Campanile

@Suite("Executors as places", .ownThread)
struct ExecutorTests {
  private let ticks = Broadcaster<Int>()
  private let heard = Recorder<Int>()

  @Test("K6 K11 A task executor gets one job for a burst, always queued, and the order is kept")
  func taskExecutor() {
    let executor = ManualExecutor()
    let tokens = [
      ticks.observe(on: .executor(executor)) { [heard] in heard.record($0) },
      ticks.observe(on: .executor(executor)) { [heard] in heard.record($0 * 10) },
    ]
    for tick in 1...3 { ticks.send(tick) }
    #expect(heard.values == [])
    executor.runUntilIdle()
    #expect(heard.values == [1, 10, 2, 20, 3, 30])
    #expect(executor.ranCount == 1)
    withExtendedLifetime(tokens) {}
  }

  @Test("K6 A serial executor runs observers beside the actors on it, never at the same time")
  func serialExecutor() async throws {
    let queue = TestQueue()
    let executor = QueueExecutor(queue.queue)
    let detector = OverlapDetector()
    let places = Recorder<Bool>()
    let tokens = (0..<2).map { _ in
      ticks.observe(on: .executor(executor as any SerialExecutor)) { [heard] number in
        detector.run {
          places.record(queue.isCurrent)
          heard.record(number)
        }
      }
    }
    for number in 1...100 { ticks.send(number) }
    try await ticks.sendAndWait(101)
    #expect(heard.count == 202)
    #expect(places.values.allSatisfy { $0 })
    #expect(!detector.hasOverlapped)
    withExtendedLifetime(tokens) {}
  }

  @Test(
    "A job on an executor is as urgent as the post that asked for it", arguments: [true, false])
  func priority(isSerial: Bool) async throws {
    let queue = TestQueue()
    let executor = QueueExecutor(queue.queue)
    let manual = ManualExecutor()
    let priorities = Recorder<TaskPriority>()
    let token = ticks.observe(
      on: isSerial ? .executor(executor as any SerialExecutor) : .executor(manual)
    ) { [heard] value in
      priorities.record(Task.currentPriority)
      heard.record(value)
    }
    for (value, priority) in [TaskPriority.background, .high, .low].enumerated() {
      // Nobody waits for the task itself, which would raise it.
      let sent = AsyncStream<Void>.makeStream()
      Task.detached(priority: priority) { [ticks] in
        ticks.send(value)
        sent.continuation.finish()
      }
      for await _ in sent.stream {}
      if !isSerial { manual.runUntilIdle() }
      try await heard.expect(value, within: patience)
      // The job that goes on would take the next value along.
      if isSerial { queue.flush() }
    }
    #expect(
      priorities.values.map(\.rawValue) == [TaskPriority.background, .high, .low].map(\.rawValue))
    withExtendedLifetime(token) {}
  }

  @Test("K5 Whoever names one executor gets one target, and it goes with the last registration")
  func oneTarget() {
    let executor = ManualExecutor()
    let first = ticks.observe(on: .executor(executor)) { _ in }
    let target = TaskTarget.of(executor)
    #expect(TaskTarget.of(executor) === target)
    #expect(first.registration.isActive)
    weak var weakExecutor: ManualExecutor?
    do {
      let other = ManualExecutor()
      weakExecutor = other
      let token = ticks.observe(on: .executor(other)) { _ in }
      token.cancel()
    }
    #expect(weakExecutor == nil)
    withExtendedLifetime((first, target)) {}
  }

  @Test("An executor of both kinds has a target for each")
  func bothKinds() {
    let executor = QueueExecutor(TestQueue().queue)
    let serial = TaskTarget.of(executor as any SerialExecutor)
    let task = TaskTarget.of(executor as any TaskExecutor)
    #expect(serial !== task)
    #expect(TaskTarget.of(executor as any SerialExecutor) === serial)
    #expect(TaskTarget.of(executor as any TaskExecutor) === task)
  }
}

/// Runs jobs on a queue: a serial executor if that is one.
private final class QueueExecutor: SerialExecutor, TaskExecutor {
  private let queue: DispatchQueue

  init(_ queue: DispatchQueue) { self.queue = queue }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async {
      // SAFETY: the closure keeps the executor until the job has run.
      unsafe job.runSynchronously(
        isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
    }
  }
}
