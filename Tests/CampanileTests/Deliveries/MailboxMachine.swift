import Synchronization

@testable import Campanile

/// A state, with a batch of the job that empties it.
final class MailboxMachine {
  var state: MailboxState
  private var batch = RecordBuffer()
  private let undelivered = Atomic<Int>(0)
  /// How much of the batch was left at the last delivery.
  var left: Int { undelivered.load(ordering: .relaxed) }
  var kept: ObserverList?
  /// The registration of the only observer, of whom something was last discarded.
  var only: Registration?

  init(_ buffering: Buffering? = nil, isRead: Bool = false) {
    state = MailboxState(buffering, isRead: isRead)
  }

  /// Discards what a test left: a buffer frees its memory, and releases nothing in it.
  deinit {
    repeat { batch.discardAll() } while state.giveUp(&batch)
  }

  var isIdle: Bool { state.schedule.isIdle }
  var isFull: Bool { state.isFull }
  var waitingCount: Int { state.waitingCount }
  var discardedCount: Int { state.discardedCount }
  var registration: Registration? { state.registration }
  func append(_ envelope: Envelope, _ value: Int, by poster: Urgency = .medium) -> Urgency? {
    state.append(envelope, value, by: poster)
  }
  func beginInline() -> Bool { state.schedule.beginInline() }
  func endInline(by poster: Urgency = .medium) -> Urgency? { state.endInline(by: poster) }
  func begin(_ job: Urgency) -> Int? {
    state.begin(job, &batch, keeping: &kept)
  }
  func take(_ job: Urgency) -> Int? { state.take(job, &batch) }
  func giveWay(_ job: Urgency) -> Urgency? { state.giveWay(job, &batch) }
  func discard(_ job: Urgency) -> Bool { state.giveUp(&batch, of: job, keeping: &only) }
  func close() -> ObserverList? { state.close(&batch) }
  func wait() -> Bool { state.wait() }
  func finish() -> Bool { state.finish() }
  func giveUp() -> Bool { state.giveUp(&batch) }
  func read() throws(MailboxState.IsEmpty) -> Int { try state.read() }

  // The batch.
  var count: Int { batch.count }
  var isEmpty: Bool { batch.isEmpty }
  func deliver(_ limit: Int) -> Int {
    var call: PreparedCall?
    return batch.deliver(atMost: limit, inTask: &call, left: undelivered)
  }
  func discardAll() { batch.discardAll() }
}
