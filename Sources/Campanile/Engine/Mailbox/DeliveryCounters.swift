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

  /// The calls that outlast the post that began them.
  let calls = Pending()

  // No pair: a count says nothing of other memory.
  var droppedCount: Int { dropped.load(ordering: .relaxed) }

  // No pair: as above.
  func countDrop() { dropped.wrappingAdd(1, ordering: .relaxed) }
}

/// Counts calls or deliveries that are under way, and calls closures when none is.
package struct Pending: ~Copyable, Sendable {
  // Not private, as in `Teller`: the compiler makes a broken object file of a class that stores one.
  struct State {
    var count: Int
    var waiters: [@Sendable () -> Void] = []
    var isWaitOver = false

    mutating func takeWaiters() -> [@Sendable () -> Void] {
      defer { waiters = [] }
      return waiters
    }
  }

  let state: Locked<State>

  package init(_ count: Int = 0) { state = Locked(State(count: count)) }

  var isEmpty: Bool { state.withLock { $0.count == 0 } }

  package func begin() { state.withLock { $0.count += 1 } }

  package func end() {
    let waiters = state.withLock { state in
      state.count -= 1
      return state.count == 0 ? state.takeWaiters() : []
    }
    for waiter in waiters { waiter() }
  }

  /// Calls `resume` when nothing is under way, or at once if the wait is over.
  func wait(then resume: @escaping @Sendable () -> Void) {
    let mustWait = state.withLock { state in
      if state.count == 0 || state.isWaitOver { return false }
      state.waiters.append(resume)
      return true
    }
    if !mustWait { resume() }
  }

  /// Waits until nothing is under way; if the task is canceled, every wait ends.
  package func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in wait { continuation.resume() } }
    } onCancel: {
      endWait()
    }
  }

  /// Ends every wait, also those that begin later.
  package func endWait() {
    let waiters = state.withLock { state in
      state.isWaitOver = true
      return state.takeWaiters()
    }
    for waiter in waiters { waiter() }
  }
}
