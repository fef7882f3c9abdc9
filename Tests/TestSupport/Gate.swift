import Dispatch
import Foundation

/// Holds a thread until a test lets it go on.
///
/// The held side calls `pass()`; the test waits with `waitUntilReached()` and ends with `open()`.
/// An opened gate lets everybody through.
package final class Gate: Sendable {
  package init() {}

  private let reached = DispatchSemaphore(value: 0)
  private let opened = DispatchSemaphore(value: 0)

  /// Says that the thread is here, and waits to be let go on.
  package func pass() {
    reached.signal()
    opened.wait()
    opened.signal()
  }

  /// Waits until a thread has come to the gate.
  package func waitUntilReached() { reached.wait() }

  /// Lets the thread that waits, and all later ones, go on.
  package func open() { opened.signal() }
}

/// Runs `body` on `width` threads at once, which wait for each other to start, and returns when all
/// are done.
package func onThreads(_ width: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let start = DispatchSemaphore(value: 0)
  let waits = (0..<width).map { index in
    onThread {
      start.wait()
      body(index)
    }
  }
  for _ in 0..<width { start.signal() }
  for wait in waits { wait() }
}

/// Runs `body` on a thread of its own, which is not one of a pool's and ends with it.
///
/// - Returns: What to call to wait until `body` has returned.
package func onThread(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
  let done = DispatchSemaphore(value: 0)
  Thread.detachNewThread {
    body()
    done.signal()
  }
  return { done.wait() }
}
