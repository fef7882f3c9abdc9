import Campanile
import CampanileTesting
import Dispatch
import Foundation
package import Testing

/// Runs each test of a suite on a thread of its own, and few tests at a time.
///
/// Swift's pool has as many threads as the machine has cores, and Swift Testing runs the tests on it,
/// even those that aren't asynchronous. A test that blocks there may wait for something that needs
/// the very thread that it blocks. With this trait, a test may block as long as it likes, because the
/// pool is left to what the test waits for. The few tests that run share the machine, so the limit of
/// a wait doesn't depend on how many others there are.
package struct OwnThread: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  /// When a test is said to hang, which may wait for ever.
  private static var limit: Duration { .seconds(900) }
  private static let places = Places(max(8, 4 * ProcessInfo.processInfo.activeProcessorCount))
  /// Whether the test has its thread, from the suite around its suite.
  @TaskLocal private static var isOwn = false

  package func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    if Self.isOwn { return try await function() }
    try await Self.places.withPlace {
      let watch = Task(executorPreference: ThreadExecutor()) {
        guard (try? await Task.sleep(for: Self.limit)) != nil else { return }
        Issue.record("\(test.displayName ?? test.name) has not ended after \(Self.limit)")
      }
      defer { watch.cancel() }
      do {
        try await Self.$isOwn.withValue(true) {
          try await withTaskExecutorPreference(ThreadExecutor()) { try await function() }
        }
      } catch let failure as ExpectationFailure {
        // At its own line, and not at that of the test.
        Issue.record(
          failure,
          sourceLocation: SourceLocation(
            fileID: failure.file, filePath: failure.file, line: failure.line, column: 1))
      }
    }
  }
}

extension Trait where Self == OwnThread {
  /// Runs each test on a thread of its own, on which it may block.
  package static var ownThread: Self { Self() }
}

/// Runs the jobs of tasks that prefer it one after another, on a thread that isn't one of the pool's.
///
/// A task whose closure blocks is made with this executor.
package final class ThreadExecutor: TaskExecutor {
  // A serial queue has a thread even if all threads of the pool are taken.
  private let queue = DispatchQueue(label: "ThreadExecutor")

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // SAFETY: the queue runs the job once, and its closure keeps the executor for that long.
    queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
