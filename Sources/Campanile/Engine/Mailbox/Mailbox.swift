import Synchronization

/// The deliveries that wait for one serial target, or for one observer with its own buffer.
///
/// Deliveries from all sources wait in one order. The first poster to find the mailbox idle
/// enqueues a job on the target, which also delivers the messages that arrive until it ends, so a
/// burst wakes the target once.
///
/// A custom ``DeliveryTarget`` stores a mailbox and does nothing else with it.
public final class Mailbox: Sendable {
  /// `MailboxState` decides, and this class acts; `README.md` has the words.
  private let state: Locked<MailboxState>
  /// Whether no delivery waits and no job delivers; written under the lock.
  private let isIdle = Atomic<Bool>(true)
  /// Whether the buffer is full, so that the next value finds no room; written under the lock.
  private let isFull = Atomic<Bool>(false)
  /// How much of a batch that is being delivered still waits; written by the delivering thread.
  let undelivered = Atomic<Int>(0)
  /// Limits the turns of jobs that deliver from here; `nil` if only deliveries are counted.
  let clock: DrainBudget.Clock?
  /// Counts the values that the only observer does not receive, and its running calls.
  let counters = DeliveryCounters()

  /// Creates an empty mailbox.
  public convenience init() { self.init(nil, clock: nil) }

  /// - Parameter buffering: How much may wait for the only observer; `nil` for a target.
  init(_ buffering: Buffering?, clock: DrainBudget.Clock?) {
    state = Locked(MailboxState(buffering))
    self.clock = clock
  }

  deinit {
    // No job is left that could deliver the waiting messages.
    discardPending(.medium)
  }

  /// The number of messages that wait here, from all sources.
  ///
  /// A message counts once for the observers with `ordered: true` and once for all others, and no longer
  /// once its delivery has begun. The number is read under a lock, from any thread.
  public var waitingCount: Int {
    // A batch is taken and given back with the lock held.
    // No pair: written with the lock held, or a step behind.
    state.withLock { $0.waitingCount + undelivered.load(ordering: .relaxed) }
  }

  /// Asks the state, with the lock held.
  @inline(__always)
  func decide<Result: Sendable>(_ body: (inout MailboxState) -> Result) -> Result {
    state.withLock { state in
      let result = body(&state)
      note(state)
      return result
    }
  }

  /// Stores what is read without the lock.
  private func note(_ state: borrowing MailboxState) {
    // No pair: the two are hints, which a decision under the lock confirms.
    isIdle.store(state.schedule.isIdle, ordering: .relaxed)
    // No pair: as above.
    isFull.store(state.isFull, ordering: .relaxed)
  }

  /// Asks the state for a batch, or returns one, with the lock held.
  ///
  /// If a poster has the lock, the job lets half a microsecond pass before it waits. So it takes more
  /// at a time, while the poster continues. Two threads that compete for a lock take longer than one
  /// after the other.
  func exchange<Result: Sendable>(
    _ batch: inout RecordBuffer,
    _ body: (inout MailboxState, inout RecordBuffer) -> Result
  ) -> Result {
    state.withLockInTime { state in
      let result = body(&state, &batch)
      // No pair: the lock orders it.
      undelivered.store(batch.count, ordering: .relaxed)
      note(state)
      return result
    }
  }

  /// The number of deliveries that were discarded because the target ended while they waited.
  ///
  /// Those of an observer with a bounded buffer count in its ``Registration/droppedCount`` instead.
  public var discardedCount: Int { state.withLock { $0.discardedCount } }

  /// The counts of the registration of the only observer.
  var counts: BufferCounts { BufferCounts(counters: counters) { [self] in waitingCount } }

  // MARK: Posts

  /// Leaves a record for a target.
  func append<Value>(_ envelope: Envelope, _ value: Value, for target: any DeliveryTarget) {
    schedule(decide { $0.append(envelope, value, by: .ofCaller) }, target)
  }

  /// Leaves a value for the only observer, which is registered as `id` in `list`.
  func append<Value>(
    _ value: Value, _ post: consuming Post, at id: UInt64, in list: ObserverList,
    for target: any DeliveryTarget
  ) {
    let registry = list.registry
    if registry.isReporting { registry.note(.queued, of: post, at: id, in: list) }
    // Without the lock, which the job needs to make room.
    // No pair: a hint, as in `note`.
    if isFull.load(ordering: .relaxed) {
      counters.countDrop()
      if registry.isReporting { registry.note(.dropped, of: post, at: id, in: list) }
      return
    }
    // An asynchronous observer that waits for a post cannot wait for its own turn.
    if post.tracker?.isWait(inside: counters) == true { post = post.tracked(by: nil) }
    post.tracker?.begin()
    var (envelope, value, job) = (Envelope(post, at: id, in: list), value, Urgency?.none)
    let admission = decide { $0.admit(&envelope, &value, &job, by: .ofCaller) }
    schedule(job, target)
    if admission == .free { return }
    // A message that found no room was handed back, and is released outside the lock.
    if admission != nil {
      counters.countDrop()
      envelope.noteDropped()
    }
    envelope.tracker?.end()
  }

  @inline(never)
  func schedule(_ priority: Urgency?, _ target: any DeliveryTarget) {
    if let priority { target.enqueue(DeliveryJob(self, priority, on: target)) }
  }

  /// Whether `beginInline` may succeed; asked before what costs more.
  // No pair: a hint, as in `note`.
  var mayBeIdle: Bool { isIdle.load(ordering: .relaxed) }

  /// Takes the target for a poster that is on it already, if nothing is waiting or running there.
  func beginInline() -> Bool { decide { $0.schedule.beginInline() } }

  /// Ends the inline use of the target, and schedules what arrived meanwhile.
  func endInline(for target: any DeliveryTarget) {
    schedule(decide { $0.endInline(by: .ofCaller) }, target)
  }

  /// Accepts nothing more, and discards what waits; called when the only observer has ended.
  func close() {
    var batch = RecordBuffer()
    let kept = decide { $0.close(&batch) }
    batch.discardAll()
    withExtendedLifetime(kept) {}
  }
}

extension Mailbox {
  /// Ends the only observer for everything except its running call, which ends the registration.
  func refuseOthers() {
    if let only = state.withLock({ $0.registration }) {
      only.list.registry.observer(of: only)?.useUp()
    }
    close()
  }
}

extension Mailbox {
  /// Delivers so much of what is waiting; if the target is no longer kept alive, all of it.
  ///
  /// - Returns: Whether this job was the one to deliver, and anything was waiting.
  func drain(_ priority: Urgency, on target: (any DeliveryTarget)?, atMost limit: Int) -> Bool {
    var batch = RecordBuffer()
    var kept: ObserverList?
    guard var waiting = begin(priority, &batch, keeping: &kept) else { return false }
    defer { withExtendedLifetime(kept) {} }
    // A target that is no longer kept has no other jobs, and no job could continue this one.
    var budget = target == nil ? DrainBudget(atMost: .max, nil) : DrainBudget(atMost: limit, clock)
    var (count, call) = (0, PreparedCall?.none)
    while true {
      let delivered = batch.deliver(atMost: budget.allowance, inTask: &call, left: undelivered)
      budget.note(delivered)
      if budget.isOver, let target {
        schedule(exchange(&batch) { $0.giveWay(priority, &$1) }, target)
        return true
      }
      count += delivered
      if !batch.isEmpty { continue }
      if waiting == 0 {
        // The poster of a burst continues to post. Looking again at once would find a record or
        // two, and let two threads compete for the lock. A single record isn't a burst.
        if count > 1 { Platform.linger() }
        count = 0
      }
      guard let left = exchange(&batch, { $0.take(priority, &$1) }) else { return true }
      waiting = left
    }
  }

  /// Lets a job begin; see `MailboxState`.
  func begin(
    _ priority: Urgency, _ batch: inout RecordBuffer, keeping kept: inout ObserverList?
  ) -> Int? {
    decide { state in
      let left = state.begin(priority, &batch, keeping: &kept)
      // Another job may be delivering; it counts its own batch.
      // No pair: the lock orders it.
      if left != nil { undelivered.store(batch.count, ordering: .relaxed) }
      return left
    }
  }

  /// Discards what waits, and ends the registrations whose owner has died with the target.
  func discardPending(_ priority: Urgency) {
    var batch = RecordBuffer()
    var only: Registration?
    while decide({ $0.giveUp(&batch, of: priority, keeping: &only) }) {
      // A discarded delivery may hold the last reference to the registration.
      batch.discardAll(
        of: only.map { Registration(list: $0.list, id: $0.id, counters: counters) })
      only = nil
    }
  }
}
