import Synchronization

/// What waits for one serial target, from every source, in one order.
///
/// Posters append records; the first one to find the mailbox idle enqueues a job on the target, and
/// the job takes what has gathered in batches. Appending costs a lock and no allocation per record
/// once the memory has grown; the target is woken once for a burst.
///
/// A custom ``DeliveryTarget`` stores one and does nothing else with it.
public final class Mailbox: Sendable {
  /// Protected by the lock.
  private struct State: ~Copyable {
    var filling = RecordBuffer()
    /// What a job left of its batch when its turn was over; older than what is filling.
    var rest = RecordBuffer()
    var activity = Activity()
    var discardedCount = 0
    /// How much of a batch waits while a single delivery of it is made.
    var heldCount = 0

    var isEmpty: Bool { rest.isEmpty && filling.isEmpty }

    /// Exchanges an empty batch for the older of what waits.
    mutating func exchange(_ batch: inout RecordBuffer) {
      if rest.isEmpty { swap(&filling, &batch) } else { swap(&rest, &batch) }
    }
  }

  private let state = Locked(State())
  /// Whether nothing waits and nobody delivers; written under the lock.
  private let isIdle = Atomic<Bool>(true)
  /// When a job that delivers from here lets others have the target.
  let pace: Pace

  /// Creates an empty mailbox.
  public convenience init() { self.init(.counted) }

  init(_ pace: Pace) { self.pace = pace }

  deinit {
    // Nobody is left to deliver what waits here.
    discardPending(.medium)
  }

  /// How many messages wait here, from all sources; each may be for several observers.
  public var waitingCount: Int { pendingCount }

  /// How many deliveries were discarded because the target ended with them waiting.
  public var discardedCount: Int { state.withLock { $0.discardedCount } }

  func append<Value>(_ letter: Letter, _ value: Value, for target: any DeliveryTarget) {
    let priority = state.withLock { state in
      state.filling.append(letter, value)
      isIdle.store(false, ordering: .relaxed)
      return state.activity.arrive()
    }
    schedule(priority, target)
  }

  private func schedule(_ priority: Urgency?, _ target: any DeliveryTarget) {
    if let priority { target.enqueue(DeliveryJob(self, priority, on: target)) }
  }

  /// Whether `beginInline` may succeed; asked before what costs more.
  @inline(__always)
  var mayBeIdle: Bool { isIdle.load(ordering: .relaxed) }

  /// Takes the target for a poster that is on it already, if nothing is waiting or running there.
  func beginInline() -> Bool {
    state.withLock { state in
      guard state.activity.beginInline() else { return false }
      isIdle.store(false, ordering: .relaxed)
      return true
    }
  }

  /// Gives the target back; what came meanwhile is scheduled.
  func endInline(for target: any DeliveryTarget) {
    let priority = state.withLock { state in
      isIdle.store(state.isEmpty, ordering: .relaxed)
      return state.activity.end(.ofCaller, isEmpty: state.isEmpty)
    }
    schedule(priority, target)
  }
}

extension Mailbox: Drainable {
  /// Lets a job begin, with the older of what waits, unless another one is at it.
  private func begin(_ priority: Urgency, _ batch: inout RecordBuffer) -> Bool {
    state.withLock { state in
      guard state.activity.begin(priority) else { return false }
      state.exchange(&batch)
      return true
    }
  }

  /// Exchanges an empty batch for the older of what waits.
  ///
  /// If that is nothing, the mailbox is idle from here on, and has the memory of the batch.
  ///
  /// - Returns: whether there is anything to deliver.
  private func take(_ priority: Urgency, _ batch: inout RecordBuffer) -> Bool {
    state.withLock { state in
      let isLast = state.isEmpty
      state.exchange(&batch)
      if isLast {
        _ = state.activity.end(priority, isEmpty: true)
        isIdle.store(true, ordering: .relaxed)
      }
      return !isLast
    }
  }

  /// Ends the turn of a job, whose batch keeps its place before what came later.
  ///
  /// - Returns: The priority of the job that goes on, if anything waits.
  private func giveWay(_ priority: Urgency, _ batch: inout RecordBuffer) -> Urgency? {
    state.withLock { state in
      if !batch.isEmpty { swap(&state.rest, &batch) }
      isIdle.store(state.isEmpty, ordering: .relaxed)
      return state.activity.end(priority, isEmpty: state.isEmpty)
    }
  }

  func drain(_ priority: Urgency, on target: (any DeliveryTarget)?) {
    var batch = RecordBuffer()
    guard begin(priority, &batch) else { return }
    // On a target that nobody keeps any more nobody else wants a turn, and no job can go on.
    var turn = DrainTurn(target == nil ? nil : pace)
    repeat {
      let isBurst = batch.count > 1
      repeat {
        turn.note(batch.deliver(atMost: turn.portion))
      } while !batch.isEmpty && !turn.isOver
      if turn.isOver, let target {
        return schedule(giveWay(priority, &batch), target)
      }
      // Who posts a burst goes on filling the mailbox. Looking again at once would find a record or
      // two, and have this thread and that one fight for the lock. A single record is no burst.
      if isBurst { Platform.linger() }
    } while take(priority, &batch)
  }

  func drainNext(_ priority: Urgency, on target: (any DeliveryTarget)?) -> DrainStep {
    var batch = RecordBuffer()
    guard begin(priority, &batch) else { return .nothing }
    let rest = max(0, batch.count - 1)
    state.withLock { $0.heldCount = rest }
    let count = batch.deliver(atMost: 1)
    let isEmpty = state.withLock { state in
      state.heldCount = 0
      if !batch.isEmpty { swap(&state.rest, &batch) }
      isIdle.store(state.isEmpty, ordering: .relaxed)
      state.activity.endStep(priority, isEmpty: state.isEmpty)
      return state.isEmpty
    }
    return !isEmpty ? .more : count > 0 ? .last : .nothing
  }

  var pendingCount: Int { state.withLock { $0.heldCount + $0.rest.count + $0.filling.count } }

  /// Gives up what waits, and ends the registrations whose owner has died with the target.
  func discardPending(_ priority: Urgency) {
    var batch = RecordBuffer()
    while takeDiscarded(priority, &batch) { batch.discardAll() }
  }

  private func takeDiscarded(_ priority: Urgency, _ batch: inout RecordBuffer) -> Bool {
    state.withLock { state in
      state.exchange(&batch)
      state.discardedCount += batch.count
      if batch.isEmpty {
        state.activity.giveUp(priority)
        isIdle.store(state.activity.isIdle, ordering: .relaxed)
      }
      return !batch.isEmpty
    }
  }
}
