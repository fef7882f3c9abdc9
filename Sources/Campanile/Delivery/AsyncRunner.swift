/// Runs the calls of one asynchronous observer in tasks, and cancels them when it ends.
///
/// As a target it runs its jobs in such tasks.
final class AsyncRunner: DeliveryTarget {
  /// Protected by the lock.
  private struct State {
    var isEnded = false
    /// The tasks that have not ended, by their numbers.
    ///
    /// There are few of them: a more urgent task takes over from the one before.
    var tasks: [(number: Int, task: Task<Void, Never>)] = []
    var count = 0
  }

  private let state = Locked(State())
  /// The values that wait for the observer, whose calls are made one at a time.
  let mailbox: Mailbox

  /// How many tasks have not ended.
  var taskCount: Int { state.withLock { $0.tasks.count } }

  init(_ buffering: Buffering) { mailbox = Mailbox(buffering, clock: nil) }

  func enqueue(_ job: DeliveryJob) {
    start(job.priority) {
      if job.take() { await self.mailbox.drain(job.urgency, inTaskOf: self) }
    }
  }

  /// Starts a task that ends when `operation` does or, canceled, with the registration.
  func start(_ priority: TaskPriority, _ operation: @escaping @Sendable () async -> Void) {
    // Made under the lock, so that it is stored before it ends.
    let (task, isEnded) = state.withLock { state in
      state.count += 1
      let number = state.count
      // Detached, because the calls that the poster's task is part of say nothing about this one.
      let task = Task.detached(priority: priority) {
        await operation()
        self.state.withLock { $0.tasks.removeAll { $0.number == number } }
      }
      state.tasks.append((number, task))
      return (task, state.isEnded)
    }
    if isEnded { task.cancel() }
  }

  /// Discards what waits, and cancels the tasks; called when the registration has ended.
  func end() {
    mailbox.close()
    let tasks = state.withLock { state in
      state.isEnded = true
      return state.tasks.map(\.task)
    }
    for task in tasks { task.cancel() }
  }
}

extension Mailbox {
  /// Delivers what is waiting for an asynchronous observer, one call after the other.
  func drain(_ priority: Urgency, inTaskOf target: any DeliveryTarget) async {
    var batch = RecordBuffer()
    var kept: ObserverList?
    if begin(priority, &batch, keeping: &kept) == nil { return }
    defer { withExtendedLifetime(kept) {} }
    var (count, next) = (0, Urgency?.none)
    repeat {
      var call: PreparedCall?
      _ = batch.deliver(atMost: 1, inTask: &call, left: undelivered)
      if let call { await call() }
      count += 1
      if count % valuesBetweenYields == 0 { await Task.yield() }
    } while exchange(&batch) { state, batch in
      // The priority of a task cannot change, so a more urgent task takes over.
      if !state.isMoreUrgent(than: priority) { return state.take(priority, &batch) }
      next = state.giveWay(priority, &batch)
      return nil
    } != nil
    schedule(next, target)
  }
}
