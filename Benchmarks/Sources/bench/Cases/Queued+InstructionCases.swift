import Campanile
import Synchronization

/// Messages with a buffer of their observer's own, one thread doing everything.
enum QueuedInstructions {
  /// How many messages wait when they are delivered, or read.
  private static let burst = 32

  static let cases = [
    InstructionCase(name: "queued-newest-64", count: 3_200) { bounded(.newest(64), $0) },
    InstructionCase(name: "queued-oldest-64", count: 3_200) { bounded(.oldest(64), $0) },
    InstructionCase(name: "queued-newest-full", count: 3_200) { full(.newest(64), $0) },
    InstructionCase(name: "queued-oldest-full", count: 3_200) { full(.oldest(64), $0) },
    InstructionCase(name: "sequence", count: 3_200, run: sequence),
  ]

  /// A message to an observer with a bounded buffer, and the delivery.
  private static func bounded(_ buffering: Buffering, _ count: Int) {
    let (center, sink, target) = (MessageCenter(), Sink(), ManualTarget())
    let token = center.observe(Message8.self, on: .target(target, buffering: buffering)) {
      sink.add($0.value)
    }
    for value in 0..<count {
      center.post(Message8(value))
      if value % burst == burst - 1 { target.runJob() }
    }
    withExtendedLifetime(token) {}
  }

  /// A message to a buffer that has no room.
  private static func full(_ buffering: Buffering, _ count: Int) {
    let (center, target) = (MessageCenter(), ManualTarget())
    let token = center.observe(Message8.self, on: .target(target, buffering: buffering)) { _ in }
    for value in 0..<count { center.post(Message8(value)) }
    withExtendedLifetime(token) {}
  }

  /// A message to a sequence, and its reading.
  private static func sequence(_ count: Int) {
    let (center, sink, executor) = (MessageCenter(), Sink(), ManualExecutor())
    let messages = center.messages(of: Message8.self).values()
    let task = Task.detached(executorPreference: executor) {
      for await message in messages { sink.add(message.value) }
    }
    for value in 0..<count {
      center.post(Message8(value))
      if value % burst == burst - 1 { executor.runUntilIdle() }
    }
    task.cancel()
    executor.runUntilIdle()
  }
}

/// Runs its jobs when it is told to, on the thread that tells it.
private final class ManualExecutor: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  func runUntilIdle() {
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
