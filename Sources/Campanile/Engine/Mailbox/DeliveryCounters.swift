import Synchronization

/// The counts of a registration that has its own buffer or its own calls.
struct BufferCounts: Sendable {
  let counters: DeliveryCounters
  /// Counts the values that wait; called with no lock held.
  let waitingCount: @Sendable () -> Int
}

/// The counters of a registration that delivers elsewhere, which stay readable after its end.
final class DeliveryCounters: Sendable {
  private let dropped = Atomic<Int>(0)

  private struct Calls {
    var running = 0
    var waiters: [@Sendable () -> Void] = []
  }

  private let calls = Locked(Calls())

  // No pair: a count says nothing of other memory.
  var droppedCount: Int { dropped.load(ordering: .relaxed) }

  // No pair: as above.
  func countDrop() { dropped.wrappingAdd(1, ordering: .relaxed) }

  // MARK: Calls that outlast the post that began them

  func beginCall() {
    calls.withLock { $0.running += 1 }
  }

  func endCall() {
    let waiters = calls.withLock { calls in
      calls.running -= 1
      if calls.running > 0 { return [@Sendable () -> Void]() }
      defer { calls.waiters = [] }
      return calls.waiters
    }
    for waiter in waiters { waiter() }
  }

  var isRunning: Bool { calls.withLock { $0.running > 0 } }

  /// Calls `resume` once no asynchronous call runs.
  func afterCalls(_ resume: @escaping @Sendable () -> Void) {
    let mustWait = calls.withLock { calls in
      if calls.running == 0 { return false }
      calls.waiters.append(resume)
      return true
    }
    if !mustWait { resume() }
  }
}
