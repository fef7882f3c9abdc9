import Campanile
import Dispatch
package import Foundation

private let isStarting = Locked(())

/// Calls `body`, which starts a program and makes its pipes, while no other test does so.
///
/// Foundation sees that a program has ended, or writes no more, when the last copy of a socket or a
/// pipe is closed. A program that another thread starts at the same time may have a copy, too.
package func startingAlone<Result: Sendable>(
  _ body: () throws -> Result
) throws -> Result {
  try isStarting.withLock { _ in try body() }
}

/// The end of a program, for which any thread can wait.
///
/// `Process.waitUntilExit()` gives its thread a run loop. Foundation allocates memory when a thread
/// with a run loop ends, after Thread Sanitizer has taken the thread's allocator down, which stops the
/// tests.
package struct ProgramEnd: Sendable {
  private let hasEnded = DispatchSemaphore(value: 0)

  /// - Parameter process: A program that has not been started.
  package init(of process: Process) {
    process.terminationHandler = { [hasEnded] process in
      hasEnded.signal()
      // A process and the source of its run loop retain each other until somebody has waited for its
      // end. The main thread has a run loop anyway.
      DispatchQueue.main.async { process.waitUntilExit() }
    }
  }

  /// Returns when the program has ended; it must have been started.
  package func wait() {
    hasEnded.wait()
    hasEnded.signal()
  }
}

extension Process {
  /// Sends the program a signal; after `SIGSTOP`, returns when none of its threads runs any more.
  ///
  /// The signal goes to one thread, which may wait for a processor while the others go on.
  package func send(_ signal: Int32) {
    _ = kill(processIdentifier, signal)
    if signal != SIGSTOP { return }
    var status = unsafe siginfo_t()
    let id = id_t(processIdentifier)
    while unsafe waitid(P_PID, id, &status, WSTOPPED | WNOWAIT) != 0, errno == EINTR {}
  }
}
