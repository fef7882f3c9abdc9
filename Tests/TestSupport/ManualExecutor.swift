import Campanile

/// Runs the jobs of tasks that prefer it when a test says so.
///
/// When none is left, a task that has not ended waits for something that nobody is going to do.
package final class ManualExecutor: TaskExecutor {
  package init() {}

  private let jobs = Locked<[UnownedJob]>([])
  private let count = Locked(0)

  /// How many jobs have been run.
  package var ranCount: Int { count.withLock { $0 } }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  package func runUntilIdle() {
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      count.withLock { $0 += 1 }
      // SAFETY: the executor lives for as long as this runs.
      unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
