/// What waits for one observer: a bounded one, or one that is asynchronous.
///
/// The mailbox holds values and never the observer's closure, so that a registration's end releases
/// the closure whatever is still waiting here.
final class PrivateMailbox<Value: Sendable>: Sendable {
  private struct Element {
    let value: Value
    let post: Post
  }

  typealias Schedule = @Sendable (PrivateMailbox, Urgency) -> Void

  /// Protected by the lock.
  private struct State {
    var queue: BoundedQueue<Element>
    var activity = Activity()
    /// Arranges for the mailbox to be drained; `nil` once it is closed.
    var schedule: Schedule?
    /// Whom the values are for; known at the first value.
    var registration: Registration?

    /// What is to be enqueued outside the lock.
    func job(_ priority: Urgency?) -> Job? {
      guard let priority, let schedule else { return nil }
      return Job(priority: priority, schedule: schedule)
    }
  }

  private struct Job {
    let priority: Urgency
    let schedule: Schedule
  }

  private let state: Locked<State>
  private let counters: DeliveryCounters

  init(
    _ buffering: Buffering, counters: DeliveryCounters,
    schedule: @escaping Schedule
  ) {
    state = Locked(State(queue: BoundedQueue(buffering), schedule: schedule))
    self.counters = counters
  }

  /// Takes a value in; called where it was posted.
  func append(_ value: Value, _ post: Post, for registration: Registration) {
    var post = post
    // An asynchronous observer that waits for a post cannot wait for its own turn.
    if post.tracker != nil, AsyncCall.isCurrent(counters) { post = post.untracked }
    post.tracker?.begin()
    let registry = registration.list.registry
    registry.note(.queued, of: post, for: registration)
    let element = Element(value: value, post: post)
    var job: Job?
    let (dropped, wasDropped) = state.withLock { state -> (Element?, Bool) in
      if state.schedule == nil { return (element, false) }
      state.registration = registration
      let dropped = state.queue.append(element)
      job = state.job(state.activity.arrive())
      return (dropped, dropped != nil)
    }
    if wasDropped { counters.countDrop() }
    if wasDropped, let dropped { registry.note(.dropped, of: dropped.post, for: registration) }
    dropped?.post.tracker?.end()
    enqueue(job)
  }

  private func enqueue(_ job: Job?) {
    if let job { job.schedule(self, job.priority) }
  }

  /// Takes nothing in any more, and gives up what is waiting; called when the registration ended.
  func close() {
    let (waiting, schedule) = state.withLock { state in
      state.registration = nil
      return (state.queue.removeAll(), state.schedule.take())
    }
    // The target may go with this, outside the lock.
    withExtendedLifetime(schedule) {
      for element in waiting { element.post.tracker?.end() }
    }
  }

  // MARK: Turns

  /// Lets a job begin, unless another one is at it.
  private func begin(_ priority: Urgency) -> Bool {
    state.withLock { $0.activity.begin(priority) }
  }

  /// The next value and whom it is for, or `nil` when the mailbox is idle again.
  private func next(_ priority: Urgency) -> (Element, Registration)? {
    state.withLock { state -> (Element, Registration)? in
      if let registration = state.registration, let element = state.queue.popFirst() {
        return (element, registration)
      }
      _ = state.activity.end(priority, isEmpty: true)
      return nil
    }
  }

  /// Ends the turn of a job; another one goes on with what waits.
  private func giveWay(_ priority: Urgency) {
    let job = state.withLock { $0.job($0.activity.end(priority, isEmpty: $0.queue.isEmpty)) }
    enqueue(job)
  }

  /// Whether somebody waits who is more urgent than the task that delivers.
  private func isUrgent(beyond priority: Urgency) -> Bool {
    state.withLock { $0.activity.isMoreUrgent(than: priority) }
  }

  /// Delivers what is waiting, one value after the other, in a task.
  func drain(_ priority: Urgency) async {
    guard begin(priority) else { return }
    var count = 0
    while let (element, registration) = next(priority) {
      let call = registration.list.registry.arrive(
        element.value, element.post, at: registration)
      if let call {
        await call()
        counters.endCall()
      }
      element.post.tracker?.end()
      // The priority of a task is for good: a more urgent one goes on.
      if isUrgent(beyond: priority) { return giveWay(priority) }
      count += 1
      if count % valuesBetweenYields == 0 { await Task.yield() }
    }
  }
}

extension PrivateMailbox: Drainable {
  func drain(_ priority: Urgency, on target: (any DeliveryTarget)?) {
    guard begin(priority) else { return }
    var turn = DrainTurn(target?.mailbox.pace)
    while let (element, registration) = next(priority) {
      registration.list.registry.arrive(element.value, element.post, at: registration)
      element.post.tracker?.end()
      turn.note(1)
      if turn.isOver { return giveWay(priority) }
    }
  }

  func drainNext(_ priority: Urgency, on target: (any DeliveryTarget)?) -> DrainStep {
    guard begin(priority), let (element, registration) = next(priority) else { return .nothing }
    registration.list.registry.arrive(element.value, element.post, at: registration)
    element.post.tracker?.end()
    return state.withLock { state in
      state.activity.endStep(priority, isEmpty: state.queue.isEmpty)
      return state.queue.isEmpty ? .last : .more
    }
  }

  var pendingCount: Int { state.withLock { $0.queue.count } }

  func discardPending(_ priority: Urgency) {
    let (waiting, registration) = state.withLock { state in
      state.activity.giveUp(priority)
      return (state.queue.removeAll(), state.registration)
    }
    for element in waiting {
      counters.countDrop()
      if let registration {
        registration.list.registry.note(.dropped, of: element.post, for: registration)
      }
    }
    if let registration { registration.list.registry.endDead(registration) }
    for element in waiting { element.post.tracker?.end() }
  }
}
