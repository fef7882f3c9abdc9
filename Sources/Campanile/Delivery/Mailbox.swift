/// What waits for one serial target, from every source, in one order.
///
/// Posters append records; the first one to find the mailbox idle enqueues a job on the target, and
/// the job takes what has gathered in batches. Appending costs a lock and no allocation per record
/// once the memory has grown; the target is woken once for a burst.
///
/// A custom ``DeliveryTarget`` stores one and does nothing else with it.
public final class Mailbox: Sendable {
  /// Protected by the lock.
  private struct State {
    var activity = Activity.idle
    var filling = RecordBuffer()
    var spare: RecordBuffer?
    var discardedCount = 0
  }

  private enum Activity {
    case idle
    /// A job is enqueued or draining.
    case scheduled
    /// A poster that is on the target runs observers itself.
    case inline
  }

  /// How many records a job delivers before it lets others have the target.
  private static let batchLimit = 1_024

  private let state = Locked(State())

  /// Creates an empty mailbox.
  public init() {}

  /// How many deliveries were discarded because the target ended with them waiting.
  public var discardedCount: Int { state.withLock { $0.discardedCount } }

  func append<Value>(
    _ letter: ObserverRegistry.Letter, _ value: Value, for target: any DeliveryTarget
  ) {
    let mustSchedule = state.withLock { state in
      state.filling.append(letter, value)
      if state.activity != .idle { return false }
      state.activity = .scheduled
      return true
    }
    if mustSchedule { target.enqueue(DeliveryJob(self, on: target)) }
  }

  /// Takes the target for a poster that is on it already, if nothing is waiting or running there.
  func beginInline() -> Bool {
    state.withLock { state in
      guard state.activity == .idle else { return false }
      state.activity = .inline
      return true
    }
  }

  /// Gives the target back; what came meanwhile is scheduled.
  func endInline(for target: any DeliveryTarget) {
    let mustSchedule = state.withLock { state in
      state.activity = state.filling.isEmpty ? .idle : .scheduled
      return state.activity == .scheduled
    }
    if mustSchedule { target.enqueue(DeliveryJob(self, on: target)) }
  }

  /// Takes what has gathered, or leaves the mailbox idle.
  private func takeBatch() -> RecordBuffer? {
    state.withLock { state -> RecordBuffer? in
      if state.filling.isEmpty {
        state.activity = .idle
        return nil
      }
      let batch = state.filling
      state.filling = state.spare.take() ?? RecordBuffer()
      return batch
    }
  }
}

extension Mailbox: Drainable {
  func drain(on target: (any DeliveryTarget)?) {
    var count = 0
    while let batch = takeBatch() {
      count += batch.count
      batch.deliverAll()
      state.withLock { $0.spare = batch }
      if let target, count >= Self.batchLimit {
        let isDone = state.withLock { state in
          if state.filling.isEmpty { state.activity = .idle }
          return state.filling.isEmpty
        }
        if !isDone { target.enqueue(DeliveryJob(self, on: target)) }
        return
      }
    }
  }

  func discardPending() {
    while let batch = takeBatch() {
      let count = batch.count
      state.withLock { $0.discardedCount += count }
      batch.discardAll()
    }
  }
}
