/// Runs the calls of one asynchronous observer in tasks, and cancels them when it ends.
///
/// As a target it runs its jobs in such tasks.
final class AsyncRunner: DeliveryTarget {
  /// Protected by the lock.
  struct State {
    var isEnded = false
    var places: [Place] = []
    /// The indices of the free places.
    private var free: [Int] = []

    mutating func reserve() -> Int {
      guard let index = free.popLast() else {
        places.append(.reserved)
        return places.count - 1
      }
      places[index] = .reserved
      return index
    }

    /// Stores a task that was started, unless it has ended.
    mutating func store(_ task: Task<Void, Never>, at index: Int) {
      if case .over = places[index] { giveBack(index) } else { places[index] = .running(task) }
    }

    /// Notes that the task of a place has ended.
    mutating func end(at index: Int) {
      if case .reserved = places[index] { places[index] = .over } else { giveBack(index) }
    }

    private mutating func giveBack(_ index: Int) {
      places[index] = .free
      free.append(index)
    }
  }

  /// A place for a task.
  enum Place {
    case free
    /// The task is about to be made.
    case reserved
    case running(Task<Void, Never>)
    /// The task has ended before it was stored here.
    case over
  }

  private let state = Locked(State())
  /// The values that wait for the observer, if its calls are made one at a time.
  let mailbox: Mailbox

  init(_ buffering: Buffering) { mailbox = Mailbox(buffering, clock: nil) }

  func enqueue(_ job: DeliveryJob) {
    start(job.urgency) { if job.take() { await self.mailbox.drain(job.urgency, inTaskOf: self) } }
  }

  /// Starts a task that ends when `operation` does or, canceled, with the registration.
  func start(_ urgency: Urgency = .ofCaller, _ operation: @escaping @Sendable () async -> Void) {
    let index = state.withLock { $0.reserve() }
    // Detached, because the calls that the poster's task is part of say nothing about this one.
    let task = Task.detached(priority: urgency.priority) {
      await operation()
      self.state.withLock { $0.end(at: index) }
    }
    let isEnded = state.withLock { state in
      state.store(task, at: index)
      return state.isEnded
    }
    if isEnded { task.cancel() }
  }

  /// Discards what waits, and cancels the tasks; called when the registration has ended.
  func end() {
    mailbox.close()
    let tasks = state.withLock { state in
      state.isEnded = true
      return state.places.compactMap { if case .running(let task) = $0 { task } else { nil } }
    }
    for task in tasks { task.cancel() }
  }
}

extension Mailbox {
  /// Delivers what is waiting for an asynchronous observer, one call after the other.
  // Optimized for size, because each part between two suspensions repeats much of the others.
  @_optimize(size)
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
