import Synchronization

/// What waits for one serial target, from every source, in one order; or for one observer that has a
/// buffer of its own.
///
/// Posters append records; the first one to find the mailbox idle enqueues a job on the target, and
/// the job takes what has gathered. Appending costs a lock and no allocation per record once the
/// memory has grown; the target is woken once for a burst. What is decided is decided by
/// `MailboxState`, with the lock held; nothing else is done under the lock.
///
/// A custom ``DeliveryTarget`` stores one and does nothing else with it.
public final class Mailbox: Sendable {
  private let state: Locked<MailboxState>
  /// Whether nothing waits and nobody delivers; written under the lock.
  private let isIdle = Atomic<Bool>(true)
  /// Whether there is no room for a value that comes; written under the lock.
  private let isFull = Atomic<Bool>(false)
  /// When a job that delivers from here lets others have the target.
  let pace: Pace
  /// What the only observer does not hear is counted here, and how many of its calls run.
  let counters = DeliveryCounters()

  /// Creates an empty mailbox.
  public convenience init() { self.init(nil, .counted) }

  /// - Parameter buffering: How much may wait for the only observer; `nil` for a target.
  init(_ buffering: Buffering?, _ pace: Pace) {
    state = Locked(MailboxState(buffering))
    self.pace = pace
  }

  deinit {
    // Nobody is left to deliver what waits here.
    discardPending(.medium)
  }

  /// How many messages wait here, from all sources; each may be for several observers.
  public var waitingCount: Int { pendingCount }

  /// Asks the state, with the lock held.
  @inline(__always)
  private func decide<Result: Sendable>(_ body: (inout MailboxState) -> Result) -> Result {
    state.withLock { state in
      let result = body(&state)
      isIdle.store(state.isIdle, ordering: .relaxed)
      isFull.store(state.isFull, ordering: .relaxed)
      return result
    }
  }

  /// How many deliveries were discarded because the target ended with them waiting.
  public var discardedCount: Int { state.withLock { $0.discardedCount } }

  var pendingCount: Int { state.withLock { $0.waitingCount } }

  /// What can be asked of the registration of the only observer.
  var counts: BufferCounts { BufferCounts(counters: counters) { [self] in pendingCount } }

  // MARK: Posts

  /// Leaves a record for a target.
  func append<Value>(_ envelope: Envelope, _ value: Value, for target: any DeliveryTarget) {
    schedule(decide { $0.append(envelope, value) }, target)
  }

  /// Leaves a value for the only observer, which is registered as `id` in `list`.
  func append<Value>(
    _ value: Value, _ post: consuming Post, at id: UInt64, in list: ObserverList,
    for target: any DeliveryTarget
  ) {
    list.registry.note(.queued, of: post, at: id, in: list)
    // Without the lock, which the job needs to make room.
    if isFull.load(ordering: .relaxed) {
      counters.countDrop()
      return list.registry.note(.dropped, of: post, at: id, in: list)
    }
    // An asynchronous observer that waits for a post cannot wait for its own turn.
    if post.tracker != nil, AsyncCall.isCurrent(counters) { post = post.untracked }
    post.tracker?.begin()
    var (envelope, value) = (Envelope(post, at: id, in: list), value)
    var job: Urgency?
    let admission = decide { $0.admit(&envelope, &value, &job) }
    schedule(job, target)
    // What is not kept is here now, and goes outside the lock.
    if admission == .dropped {
      counters.countDrop()
      envelope.noteDropped()
    }
    if admission != .kept { envelope.tracker?.end() }
  }

  private func schedule(_ priority: Urgency?, _ target: any DeliveryTarget) {
    if let priority { target.enqueue(DeliveryJob(self, priority, on: target)) }
  }

  /// Whether `beginInline` may succeed; asked before what costs more.
  @inline(__always)
  var mayBeIdle: Bool { isIdle.load(ordering: .relaxed) }

  /// Takes the target for a poster that is on it already, if nothing is waiting or running there.
  func beginInline() -> Bool { decide { $0.beginInline() } }

  /// Gives the target back; what came meanwhile is scheduled.
  func endInline(for target: any DeliveryTarget) { schedule(decide { $0.endInline() }, target) }

  /// Takes nothing in any more, and gives up what waits; called when the only observer has ended.
  func close() {
    var batch = RecordBuffer()
    let kept = decide { $0.close(&batch) }
    batch.discardAll()
    withExtendedLifetime(kept) {}
  }
}

extension Mailbox: Drainable {
  func drain(_ priority: Urgency, on target: (any DeliveryTarget)?) {
    var batch = RecordBuffer()
    var kept: ObserverList?
    var taken = decide { $0.begin(priority, &batch, keeping: &kept) }
    if taken == .nothing { return }
    defer { withExtendedLifetime(kept) {} }
    // On a target that nobody keeps any more nobody else wants a turn, and no job can go on.
    var turn = DrainTurn(target == nil ? nil : pace)
    var count = 0
    repeat {
      repeat {
        let delivered = batch.deliver(atMost: turn.portion)
        turn.note(delivered)
        count += delivered
      } while !batch.isEmpty && !turn.isOver
      if turn.isOver, let target {
        return schedule(decide { $0.giveWay(priority, &batch) }, target)
      }
      if taken == .all {
        // Who posts a burst goes on filling the mailbox. Looking again at once would find a record or
        // two, and have this thread and that one fight for the lock. A single record is no burst.
        if count > 1 { Platform.linger() }
        count = 0
      }
      taken = decide { $0.take(priority, &batch) }
    } while taken != .nothing
  }

  func drainInTask(_ priority: Urgency, on target: (any DeliveryTarget)?) async {
    var batch = RecordBuffer()
    var kept: ObserverList?
    if decide({ $0.begin(priority, &batch, keeping: &kept) }) == .nothing { return }
    defer { withExtendedLifetime(kept) {} }
    var count = 0
    repeat {
      if let call = batch.deliverNext() { await call() }
      // The priority of a task is for good: a more urgent one goes on.
      if let target, state.withLock({ $0.isMoreUrgent(than: priority) }) {
        return schedule(decide { $0.giveWay(priority, &batch) }, target)
      }
      count += 1
      if count % valuesBetweenYields == 0 { await Task.yield() }
    } while decide { $0.take(priority, &batch) } != .nothing
  }

  func drainNext(_ priority: Urgency, on target: (any DeliveryTarget)?) -> DrainStep {
    var batch = RecordBuffer()
    var kept: ObserverList?
    let taken = decide { state in
      let taken = state.begin(priority, &batch, keeping: &kept)
      if taken != .nothing { state.beginStep(of: batch) }
      return taken
    }
    if taken == .nothing { return .nothing }
    defer { withExtendedLifetime(kept) {} }
    _ = batch.deliver(atMost: 1)
    return decide { $0.endStep(priority, &batch) } ? .more : .last
  }

  /// Gives up what waits, and ends the registrations whose owner has died with the target.
  func discardPending(_ priority: Urgency) {
    var batch = RecordBuffer()
    while decide({ $0.discard(priority, &batch) }) {
      if let registration = state.withLock({ $0.registration }) {
        for _ in 0..<batch.count { counters.countDrop() }
        registration.list.registry.endDead(registration)
      }
      batch.discardAll()
    }
  }
}
