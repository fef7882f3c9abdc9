import Dispatch
import Synchronization
package import Testing

/// Runs the tests of a suite on threads that tasks do not share.
///
/// Tests share the threads of all tasks, which are as many as the processors. One that blocks its thread
/// until something has run on a plain operation queue, or in a task, may keep it from running there.
package struct OnOtherThreads: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  private final class Executor: TaskExecutor {
    // A serial queue has a thread that others do not wait for.
    private let queue = DispatchQueue(label: "OnOtherThreads")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      // SAFETY: the executor lives as long as the program.
      queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  // Few, so that tests take turns on a machine with little time.
  private static let executors = (0..<4).map { _ in Executor() }
  private static let count = Atomic<Int>(0)

  package func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let number = Self.count.wrappingAdd(1, ordering: .relaxed).oldValue
    let executor = Self.executors[number % Self.executors.count]
    try await withTaskExecutorPreference(executor) { try await function() }
  }
}

extension Trait where Self == OnOtherThreads {
  /// Runs each test on a thread that tasks do not share, so that it may wait for them.
  package static var onOtherThreads: Self { Self() }
}
