/// What waits in a mailbox, and who empties it: it decides, and the mailbox acts.
///
/// It has no lock, no thread and no target. A mailbox asks it with the lock held, and does what it
/// says after that.
///
/// The mailbox of a target has no bound, and a job takes all that waits at once. A mailbox of one
/// observer may be bounded and closed; a job takes one record at a time, so that until its call begins
/// a record can be dropped, given up, and counted.
struct MailboxState: ~Copyable {
  /// What has come since a job took what waited.
  private var filling: RecordBuffer
  /// What a job left of its batch when its turn was over, which is older; else a batch's memory.
  private var rest: RecordBuffer
  private var activity = Activity()
  /// How much may wait for the only observer; `nil` in the mailbox of a target.
  private let buffering: Buffering?
  /// The list of the only observer, from the first record until the mailbox is closed.
  private var list: ObserverList?
  /// The identifier of the only observer.
  private var id: UInt64 = 0
  private var isClosed = false
  /// How many records were given up because the target had ended.
  private(set) var discardedCount = 0
  /// How much of a batch waits while a single delivery of it is made.
  private var heldCount = 0

  /// - Parameter buffering: How much may wait for the only observer; `nil` for a target.
  init(_ buffering: Buffering? = nil) {
    self.buffering = buffering
    // Of many observers each has a mailbox, with little in it.
    filling = RecordBuffer(least: buffering == nil ? 2_048 : 256)
    rest = RecordBuffer(least: buffering == nil ? 2_048 : 256)
  }

  /// Whether nothing waits and nobody delivers.
  var isIdle: Bool { activity.isIdle }
  var waitingCount: Int { heldCount + rest.count + filling.count }
  private var isEmpty: Bool { rest.isEmpty && filling.isEmpty }

  /// Whether a value that comes is dropped whatever it is.
  var isFull: Bool {
    guard case .oldest(let capacity) = buffering else { return false }
    return filling.count >= capacity
  }

  /// The only observer, if anything has come for it and it has not ended.
  var registration: Registration? { list.map { Registration(list: $0, id: id, counters: nil) } }

  // MARK: Posts

  /// Takes in a record for a target.
  ///
  /// - Returns: The priority of the job that is to be enqueued, if one is.
  @inline(__always)
  mutating func append<Value>(_ envelope: Envelope, _ value: Value) -> Urgency? {
    filling.append(envelope, value)
    return activity.arrive()
  }

  /// What became of a record for the only observer.
  enum Admission: Equatable {
    /// It waits.
    case kept
    /// There was no room for it, or for an older one that has left in exchange.
    case dropped
    /// Nothing waits here any more.
    case refused
  }

  /// Takes in a record for the only observer, if there is room.
  ///
  /// - Parameters:
  ///   - envelope: The envelope; afterwards that of what is not kept.
  ///   - value: The value; afterwards what is not kept, for the caller to release.
  ///   - job: Set to the priority of the job that is to be enqueued, if one is.
  mutating func admit<Value>(
    _ envelope: inout Envelope, _ value: inout Value, _ job: inout Urgency?
  ) -> Admission {
    if isClosed { return .refused }
    switch (buffering ?? .unbounded).admission(beside: filling.count) {
    case .refused:
      return .dropped
    case .inExchange:
      filling.exchangeFirst(&envelope, &value)
      job = activity.arrive()
      return .dropped
    case .free:
      if list == nil { (list, id) = envelope.arrival }
      filling.append(envelope, value)
      job = activity.arrive()
      return .kept
    }
  }

  /// Gives an idle mailbox to a poster that is on the target.
  mutating func beginInline() -> Bool { activity.beginInline() }

  /// Takes the mailbox back.
  ///
  /// - Returns: The priority of the job that is to be enqueued for what came meanwhile, if one is.
  mutating func endInline() -> Urgency? { activity.end(.ofCaller, isEmpty: isEmpty) }

  // MARK: Turns

  /// What a job takes.
  enum Taken: Equatable {
    /// Another job is at it, or nothing waits: the turn is over.
    case nothing
    /// The oldest record, and more wait.
    case some
    /// All that waited.
    case all
  }

  /// Lets a job begin, with the older of what waits.
  ///
  /// - Parameter kept: Set to what the job is to keep for as long as it has records.
  @inline(__always)
  mutating func begin(
    _ job: Urgency, _ batch: inout RecordBuffer, keeping kept: inout ObserverList?
  ) -> Taken {
    guard activity.begin(job) else { return .nothing }
    if buffering != nil { swap(&rest, &batch) }
    kept = list
    return take(job, &batch)
  }

  /// Moves the older of what waits to an empty batch.
  ///
  /// If that is nothing, the mailbox is idle from here on, and has the memory of the batch.
  mutating func take(_ job: Urgency, _ batch: inout RecordBuffer) -> Taken {
    if isEmpty {
      if buffering == nil { exchange(&batch) } else { swap(&rest, &batch) }
      _ = activity.end(job, isEmpty: true)
      return .nothing
    }
    if buffering == nil {
      exchange(&batch)
    } else {
      filling.moveFirst(to: &batch)
    }
    return isEmpty ? .all : .some
  }

  /// Exchanges an empty batch for the older of what waits.
  private mutating func exchange(_ batch: inout RecordBuffer) {
    if rest.isEmpty { swap(&filling, &batch) } else { swap(&rest, &batch) }
  }

  /// Ends the turn of a job, whose batch keeps its place before what came later.
  ///
  /// - Returns: The priority of the job that goes on, if anything waits.
  mutating func giveWay(_ job: Urgency, _ batch: inout RecordBuffer) -> Urgency? {
    swap(&rest, &batch)
    return activity.end(job, isEmpty: isEmpty)
  }

  /// Whether a post has come during the turn that is more urgent than the turn.
  func isMoreUrgent(than job: Urgency) -> Bool { activity.isMoreUrgent(than: job) }

  /// Says that one record of a batch is being delivered, and that the others wait meanwhile.
  mutating func beginStep(of batch: borrowing RecordBuffer) { heldCount = batch.count - 1 }

  /// Takes the others back; the job is on its way again if anything waits.
  ///
  /// - Returns: Whether anything does.
  mutating func endStep(_ job: Urgency, _ batch: inout RecordBuffer) -> Bool {
    heldCount = 0
    swap(&rest, &batch)
    activity.endStep(job, isEmpty: isEmpty)
    return !isEmpty
  }

  // MARK: Ends

  /// Gives what waits to a batch, in parts, since a job was released without having run.
  ///
  /// - Returns: Whether there is anything in the batch.
  mutating func discard(_ job: Urgency, _ batch: inout RecordBuffer) -> Bool {
    exchange(&batch)
    discardedCount += batch.count
    if batch.isEmpty { activity.giveUp(job) }
    return !batch.isEmpty
  }

  /// Takes nothing in any more, and gives what waits to a batch: the only observer has ended.
  ///
  /// - Returns: What is to be released with the batch.
  mutating func close(_ batch: inout RecordBuffer) -> ObserverList? {
    isClosed = true
    swap(&filling, &batch)
    return list.take()
  }
}
