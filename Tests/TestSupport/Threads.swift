import Dispatch
import Foundation

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
