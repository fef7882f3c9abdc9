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
    var discardedCount = 0
  }

  private enum Activity: UInt8, AtomicRepresentable {
    case idle
    /// A job is enqueued or draining.
    case scheduled
    /// A poster that is on the target runs observers itself.
    case inline
  }

  /// How many records a job delivers before it lets others have the target.
  private static let batchLimit = 1_024

  private let state = Locked(State())
  /// Written under the lock.
  private let activity = Atomic<Activity>(.idle)

  /// Creates an empty mailbox.
  public init() {}

  deinit {
    // Nobody is left to deliver what waits here.
    discardPending()
  }

  /// How many deliveries were discarded because the target ended with them waiting.
  public var discardedCount: Int { state.withLock { $0.discardedCount } }

  func append<Value>(_ letter: Letter, _ value: Value, for target: any DeliveryTarget) {
    let mustSchedule = state.withLock { state in
      state.filling.append(letter, value)
      return begin(.scheduled)
    }
    if mustSchedule { target.enqueue(DeliveryJob(self, on: target)) }
  }

  /// Whether `beginInline` may succeed; asked before what costs more.
  @inline(__always)
  var mayBeIdle: Bool { activity.load(ordering: .relaxed) == .idle }

  /// Takes the target for a poster that is on it already, if nothing is waiting or running there.
  func beginInline() -> Bool {
    state.withLock { _ in begin(.inline) }
  }

  /// Under the lock.
  private func begin(_ next: Activity) -> Bool {
    if activity.load(ordering: .relaxed) != .idle { return false }
    activity.store(next, ordering: .relaxed)
    return true
  }

  /// Gives the target back; what came meanwhile is scheduled.
  func endInline(for target: any DeliveryTarget) {
    let mustSchedule = state.withLock { state in
      activity.store(state.filling.isEmpty ? .idle : .scheduled, ordering: .relaxed)
      return !state.filling.isEmpty
    }
    if mustSchedule { target.enqueue(DeliveryJob(self, on: target)) }
  }

  /// Exchanges an empty batch for what has gathered.
  ///
  /// If that is nothing, the mailbox is idle from here on, and has the memory of the batch.
  ///
  /// - Returns: whether there is anything to deliver.
  private func take(_ batch: inout RecordBuffer) -> Bool {
    state.withLock { state in
      let isLast = state.filling.isEmpty
      swap(&state.filling, &batch)
      if isLast { activity.store(.idle, ordering: .relaxed) }
      return !isLast
    }
  }
}

extension Mailbox: Drainable {
  /// Leaves the mailbox idle, if nothing waits in it.
  private func becomeIdle() -> Bool {
    state.withLock { state in
      if state.filling.isEmpty { activity.store(.idle, ordering: .relaxed) }
      return state.filling.isEmpty
    }
  }

  func drain(on target: (any DeliveryTarget)?) {
    var batch = RecordBuffer()
    var count = 0
    while take(&batch) {
      count += batch.count
      batch.deliverAll()
      if count >= Self.batchLimit, let target {
        // Others have the target first; if there is more, the job that is enqueued here goes on.
        if !becomeIdle() { target.enqueue(DeliveryJob(self, on: target)) }
        return
      }
      // Who posts a burst goes on filling the mailbox. Looking again at once would find a record or
      // two, and have this thread and that one fight for the lock.
      Platform.linger()
    }
  }

  func drainNext(on target: (any DeliveryTarget)?) -> Bool {
    var batch = RecordBuffer()
    let isLast = state.withLock { state in
      if state.filling.count > 1 {
        state.filling.moveFirst(to: &batch)
        return false
      }
      swap(&state.filling, &batch)
      return true
    }
    batch.deliverAll()
    return isLast ? !becomeIdle() : true
  }

  var pendingCount: Int { state.withLock { $0.filling.count } }

  func discardPending() {
    var batch = RecordBuffer()
    while take(&batch) {
      let count = batch.count
      state.withLock { $0.discardedCount += count }
      batch.discardAll()
    }
  }
}
