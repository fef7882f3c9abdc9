import Campanile

/// Runs the jobs of tasks that prefer it when a test says so.
///
/// When none is left, a task that has not ended waits for something that nobody is going to do.
final class ManualExecutor: TaskExecutor {
  private let jobs = Locked<[UnownedJob]>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  func runUntilIdle() {
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      // SAFETY: the executor lives for as long as this runs.
      unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
