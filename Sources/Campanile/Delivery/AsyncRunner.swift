/// Runs the calls of one asynchronous observer in tasks, and cancels them when it ends.
///
/// As a target it runs its jobs in such tasks.
final class AsyncRunner: DeliveryTarget {
  /// Protected by the lock.
  private struct State {
    var isEnded = false
    /// The tasks that have not ended; `nil` for one that is about to be made.
    var tasks: [Int: Task<Void, Never>?] = [:]
    var nextTask = 0
  }

  private let state = Locked(State())
  /// The values that wait for the observer, if its calls are made one at a time.
  let mailbox: Mailbox

  init(_ buffering: Buffering) { mailbox = Mailbox(buffering, .counted) }

  func enqueue(_ job: DeliveryJob) {
    start(job.urgency) { await job.runInTask() }
  }

  /// Starts a task that ends when `operation` does or, canceled, with the registration.
  func start(
    _ urgency: Urgency = .ofCaller, _ operation: @escaping @Sendable () async -> Void
  ) {
    let id = state.withLock { state in
      state.nextTask += 1
      state.tasks[state.nextTask] = .some(nil)
      return state.nextTask
    }
    // Detached: what the poster's task is part of says nothing about this one.
    let task = Task.detached(priority: urgency.priority) {
      await operation()
      self.state.withLock { _ = $0.tasks.removeValue(forKey: id) }
    }
    let isEnded = state.withLock { state in
      if state.tasks[id] != nil { state.tasks[id] = .some(task) }
      return state.isEnded
    }
    if isEnded { task.cancel() }
  }

  /// Discards what waits, and cancels the tasks; called when the registration has ended.
  func end() {
    mailbox.close()
    let tasks = state.withLock { state in
      state.isEnded = true
      return state.tasks.values.compactMap { $0 }
    }
    for task in tasks { task.cancel() }
  }
}

extension DeliveryJob {
  /// Delivers what is waiting for an asynchronous observer.
  fileprivate func runInTask() async {
    if take() { await drained.drainInTask(urgency, on: target) }
  }
}

extension Mailbox {
  func drainInTask(_ priority: Urgency, on target: (any DeliveryTarget)?) async {
    var batch = RecordBuffer()
    var kept: ObserverList?
    if decide({ $0.begin(priority, &batch, keeping: &kept) }) == nil { return }
    defer { withExtendedLifetime(kept) {} }
    var count = 0
    repeat {
      var call: PreparedCall?
      _ = batch.deliver(atMost: 1, inTask: &call)
      if let call { await call() }
      // The priority of a task is for good: a more urgent one goes on.
      if let target, state.withLock({ $0.isMoreUrgent(than: priority) }) {
        return schedule(decide { $0.giveWay(priority, &batch) }, target)
      }
      count += 1
      if count % valuesBetweenYields == 0 { await Task.yield() }
    } while decide { $0.take(priority, &batch) } != nil
  }
}
