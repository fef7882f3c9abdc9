/// What waits for one observer: a bounded one, or one that is asynchronous.
///
/// The mailbox holds values and never the observer's closure, so that a registration's end releases
/// the closure whatever is still waiting here.
final class PrivateMailbox<Value: Sendable>: Sendable {
  private struct Element {
    let value: Value
    let post: Post
  }

  /// Protected by the lock.
  private struct State {
    var queue: BoundedQueue<Element>
    /// Whether a job is enqueued or draining.
    var isScheduled = false
    /// Arranges for the mailbox to be drained; `nil` once it is closed.
    var schedule: (@Sendable (PrivateMailbox) -> Void)?
    /// Whom the values are for; known at the first value.
    var registration: Registration?
  }

  private let state: Locked<State>
  private let counters: DeliveryCounters

  init(
    _ buffering: Buffering, counters: DeliveryCounters,
    schedule: @escaping @Sendable (PrivateMailbox) -> Void
  ) {
    state = Locked(State(queue: BoundedQueue(buffering), schedule: schedule))
    self.counters = counters
  }

  /// Takes a value in; called where it was posted.
  func append(_ value: Value, _ post: Post, for registration: Registration) {
    var post = post
    // An asynchronous observer that waits for a post cannot wait for its own turn.
    if post.tracker != nil, AsyncCall.isCurrent(counters) { post.tracker = nil }
    post.tracker?.begin()
    let element = Element(value: value, post: post)
    let (dropped, wasDropped, schedule) = state.withLock {
      state -> (Element?, Bool, (@Sendable (PrivateMailbox) -> Void)?) in
      guard let schedule = state.schedule else { return (element, false, nil) }
      state.registration = registration
      let dropped = state.queue.append(element)
      if state.isScheduled { return (dropped, dropped != nil, nil) }
      state.isScheduled = true
      return (dropped, dropped != nil, schedule)
    }
    if wasDropped { counters.countDrop() }
    dropped?.post.tracker?.end()
    schedule?(self)
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

  /// The next value and whom it is for, or `nil` when the mailbox is idle again.
  private func next() -> (Element, Registration)? {
    state.withLock { state -> (Element, Registration)? in
      if let registration = state.registration, let element = state.queue.popFirst() {
        return (element, registration)
      }
      state.isScheduled = false
      return nil
    }
  }

  /// Delivers what is waiting, one value after the other, in a task.
  func drain() async {
    while let (element, registration) = next() {
      let call = registration.list.registry.arrive(
        element.value, element.post, at: registration)
      if let call {
        await call()
        counters.endCall()
      }
      element.post.tracker?.end()
    }
  }
}

extension PrivateMailbox: Drainable {
  private static var batchLimit: Int { 1_024 }

  func drain(on target: (any DeliveryTarget)?) {
    var count = 0
    while let (element, registration) = next() {
      registration.list.registry.arrive(element.value, element.post, at: registration)
      element.post.tracker?.end()
      count += 1
      if let target, count >= Self.batchLimit {
        // Still scheduled: the job that is enqueued here goes on.
        target.enqueue(DeliveryJob(self, on: target))
        return
      }
    }
  }

  func drainNext(on target: (any DeliveryTarget)?) -> Bool {
    guard let (element, registration) = next() else { return false }
    registration.list.registry.arrive(element.value, element.post, at: registration)
    element.post.tracker?.end()
    return !becomeIdle()
  }

  /// Leaves the mailbox idle, if nothing waits in it.
  private func becomeIdle() -> Bool {
    state.withLock { state in
      if state.queue.isEmpty { state.isScheduled = false }
      return state.queue.isEmpty
    }
  }

  var pendingCount: Int { state.withLock { $0.queue.count } }

  func discardPending() {
    while let (element, registration) = next() {
      counters.countDrop()
      registration.list.registry.endDead(in: registration.list)
      element.post.tracker?.end()
    }
  }
}
