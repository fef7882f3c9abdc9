import Campanile
import Dispatch
import Foundation
package import Testing

#if canImport(Glibc)
  import Glibc
#endif

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

/// Where threads wait for each other, so that what they do next overlaps.
package final class Meeting: Sendable {
  private let missing: Locked<Int>
  private let count: Int
  private let isComplete = DispatchSemaphore(value: 0)

  package init(of count: Int) {
    missing = Locked(count)
    self.count = count
  }

  /// Blocks until so many threads have come.
  package func join() {
    let isLast = missing.withLock { missing in
      missing -= 1
      return missing == 0
    }
    if isLast { for _ in 1..<count { isComplete.signal() } } else { isComplete.wait() }
  }
}

/// Runs `body` on a thread of its own, which is not one of a pool's and ends with it.
///
/// - Parameter isPatient: Whether the wait has a limit, because `body` waits for what may not come.
/// - Returns: What to call to wait until `body` has returned.
package func onThread(
  patiently isPatient: Bool = false, at location: SourceLocation = #_sourceLocation,
  _ body: @escaping @Sendable () -> Void
) -> @Sendable () -> Void {
  let done = DispatchSemaphore(value: 0)
  let kind = SubjectKind.current
  Thread.detachNewThread {
    SubjectKind.$current.withValue(kind, operation: body)
    done.signal()
  }
  return { isPatient ? done.waitPatiently(at: location) : done.wait() }
}

#if canImport(Glibc)
  /// Runs `body` on `width` threads, which have ended, with all that is kept for them, when this
  /// returns.
  package func onEndedThreads(_ width: Int = 1, _ body: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let threads = (0..<width).map { _ in
      var thread = pthread_t()
      // SAFETY: the thread takes the reference that is handed to it, and is joined below.
      let box = unsafe Unmanaged.passRetained(Box(body)).toOpaque()
      let status = unsafe pthread_create(
        &thread, nil,
        { pointer in
          unsafe Unmanaged<Box>.fromOpaque(pointer!).takeRetainedValue().body()
          return nil
        }, box)
      precondition(status == 0)
      return thread
    }
    for thread in threads { pthread_join(thread, nil) }
  }
#endif
