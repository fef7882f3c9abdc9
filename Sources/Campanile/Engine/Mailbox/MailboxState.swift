/// The contents of a mailbox, and the decision what drains it; a storage acts on it.
///
/// It has no lock, no thread and no target. A storage calls it with the lock held, unlocks, and
/// then acts. Objects to release are swapped into `inout` parameters. `README.md` has the words.
///
/// From the mailbox of a target, which has no bound, a job takes all that waits. From the mailbox of one
/// observer, a job takes one record at a time, as the reader of a sequence takes one value. The others
/// can still be dropped.
struct MailboxState: ~Copyable {
  /// The records that arrived after those in `rest` were given out.
  private var filling = RecordBuffer()
  /// Older records, left by a job or given to a waiting reader; otherwise the memory of a batch.
  private var rest = RecordBuffer()
  var schedule = MailboxSchedule()
  /// How much may wait for the only observer or for the reader; `nil` in the mailbox of a target.
  private let buffering: Buffering?
  /// The only observer's list, from the first record until the mailbox is closed, and identifier.
  private var (list, id): (ObserverList?, UInt64) = (nil, 0)
  private var isClosed = false
  /// Whether a reader drains the mailbox instead of jobs, and whether it is waiting.
  private let isRead: Bool
  private var isAwaited = false
  /// The number of records that were discarded because the target had ended.
  private(set) var discardedCount = 0

  init(_ buffering: Buffering? = nil, isRead: Bool = false) {
    self.buffering = buffering
    self.isRead = isRead
  }

  /// How much waits here; a batch is counted by the code that delivers it.
  var waitingCount: Int { rest.count + filling.count }
  private var isEmpty: Bool { rest.isEmpty && filling.isEmpty }

  /// Whether every arriving value is dropped.
  var isFull: Bool { buffering?.admission(beside: filling.count) == .refused }

  /// The only observer, if anything has arrived for it and it has not ended.
  var registration: Registration? { list.map { Registration(list: $0, id: id, counters: nil) } }

  // MARK: Posts

  /// Adds a record for a target.
  ///
  /// - Returns: The priority of the job to enqueue, if any.
  @inline(__always)
  mutating func append<Value>(
    _ envelope: Envelope, _ value: Value, by poster: @autoclosure () -> Urgency
  ) -> Urgency? {
    filling.append(envelope, value)
    return schedule.arrive(poster())
  }

  /// Adds a record for the only observer or the reader, if there is room.
  ///
  /// - Parameters:
  ///   - envelope: The envelope; afterwards the envelope of the record that is not kept.
  ///   - value: The value; afterwards the value that is not kept, for the caller to release.
  ///   - wake: Set to the priority of the job to enqueue, if any; set to any priority if the reader
  ///     must be woken.
  ///   - poster: The poster's priority, which a mailbox that is read does not look up.
  /// - Returns: Whether there was room; `nil` if the mailbox accepts nothing more.
  mutating func admit<Value>(
    _ envelope: inout Envelope, _ value: inout Value, _ wake: inout Urgency?,
    by poster: @autoclosure () -> Urgency
  ) -> Buffering.Admission? {
    if isClosed { return nil }
    if isAwaited {
      // A value that a reader waits for takes no room.
      rest.append(envelope, value)
      isAwaited = false
      wake = .medium
      return .free
    }
    let admission = (buffering ?? .unbounded).admission(beside: filling.count)
    switch admission {
    case .refused: return .refused
    case .inExchange:
      let (newEnvelope, newValue) = (envelope, value)
      value = filling.takeFirst(&envelope)
      filling.append(newEnvelope, newValue)
    case .free:
      if list == nil { (list, id) = envelope.destination }
      filling.append(envelope, value)
    }
    if !isRead { wake = schedule.arrive(poster()) }
    return admission
  }

  // MARK: Jobs

  /// Lets a job begin, with the older of what waits.
  ///
  /// - Parameters:
  ///   - batch: An empty batch; afterwards the records that the job is to deliver.
  ///   - kept: Set to the object that the job keeps for as long as it has records.
  /// - Returns: How many more records wait; `nil` if the job must end, because another one delivers
  ///   or nothing waits.
  mutating func begin(
    _ job: Urgency, _ batch: inout RecordBuffer, keeping kept: inout ObserverList?
  ) -> Int? {
    guard schedule.begin(job) else { return nil }
    kept = list
    swap(&rest, &batch)
    return batch.isEmpty ? take(job, &batch) : filling.count
  }

  /// Moves more of what waits to a batch that has been delivered.
  ///
  /// - Returns: How many more records wait; `nil` if nothing waited, and the mailbox is idle now.
  mutating func take(_ job: Urgency, _ batch: inout RecordBuffer) -> Int? {
    if filling.isEmpty {
      _ = giveWay(job, &batch)
      return nil
    }
    if buffering == nil { swap(&filling, &batch) } else { filling.moveFirst(to: &batch) }
    return filling.count
  }

  /// Ends the turn of a job, whose batch keeps its place before later records.
  ///
  /// - Returns: The priority of the job that continues, if any.
  mutating func giveWay(_ job: Urgency, _ batch: inout RecordBuffer) -> Urgency? {
    swap(&rest, &batch)
    return schedule.end(job, isEmpty: isEmpty)
  }

  // MARK: Posters on the target

  /// Ends the inline use; returns the priority of the job to enqueue for what arrived meanwhile.
  mutating func endInline(by poster: Urgency) -> Urgency? { schedule.end(poster, isEmpty: isEmpty) }

  // MARK: Readers

  /// Thrown if there is nothing to read.
  struct IsEmpty: Error {
    /// Whether nothing will arrive any more.
    let isFinal: Bool
  }

  /// Removes and returns the oldest value.
  mutating func read<Value>() throws(IsEmpty) -> Value {
    if isEmpty { throw IsEmpty(isFinal: isClosed) }
    var envelope = Envelope()
    return rest.isEmpty ? filling.takeFirst(&envelope) : rest.takeFirst(&envelope)
  }

  /// Lets the reader wait, unless there is something to read, or the source has ended.
  ///
  /// - Returns: Whether it waits.
  mutating func wait() -> Bool {
    if !isEmpty || isClosed { return false }
    require(!isAwaited, "Two tasks asked one sequence for its next value at a time")
    isAwaited = true
    return true
  }

  // MARK: Ends

  /// Accepts nothing more; what waits can still be read.
  ///
  /// - Returns: Whether a reader must be woken.
  mutating func finish() -> Bool {
    isClosed = true
    defer { isAwaited = false }
    return isAwaited
  }

  /// Moves what waits to an empty batch, in two parts at most.
  ///
  /// - Returns: Whether there is anything in the batch.
  mutating func giveUp(_ batch: inout RecordBuffer) -> Bool {
    if rest.isEmpty { swap(&filling, &batch) } else { swap(&rest, &batch) }
    return !batch.isEmpty
  }

  /// Moves them because a job was released without having run: its target has ended.
  ///
  /// - Parameter only: Set to the registration of the only observer, if there is one. The caller
  ///   keeps it for as long as it has the batch.
  mutating func giveUp(
    _ batch: inout RecordBuffer, of job: Urgency, keeping only: inout Registration?
  ) -> Bool {
    only = registration
    let isAny = giveUp(&batch)
    discardedCount += batch.count
    if !isAny { schedule.giveUp(job) }
    return isAny
  }

  /// Accepts nothing more, and moves what waits to an empty batch: the only observer has ended.
  ///
  /// - Returns: The object to release with the batch.
  @inline(never)
  mutating func close(_ batch: inout RecordBuffer) -> ObserverList? {
    isClosed = true
    _ = giveUp(&batch)
    // A job for the only observer leaves nothing in its turn, so that nothing is in two parts.
    assert(isEmpty, "A record of an observer that has ended is left without its list")
    return list.take()
  }
}

/// The schedule of a mailbox: which job or poster drains it, and which jobs are enqueued for it.
///
/// It is a part of `MailboxState`. The first post to find the mailbox idle enqueues a job, and so
/// does a more urgent post, as long as no enqueued job has begun. The job that begins first drains
/// the mailbox; the others then find nothing to do.
struct MailboxSchedule: ~Copyable {
  private enum Stage {
    case idle
    /// Something waits, and a job is enqueued.
    case scheduled
    /// A job is delivering.
    case draining
    /// A poster that is on the target runs observers itself.
    case inline
  }

  private var stage = Stage.idle
  /// The priorities of the jobs on their way, one bit each: so there are never two of one priority.
  private var jobs: UInt64 = 0
  /// The greatest urgency of jobs that arrived in this turn, and of posts, if it was looked up.
  private var wanted: Urgency?

  var isIdle: Bool { stage == .idle }

  /// Notes that something waits.
  ///
  /// Because the poster's priority costs about as much as a lock, it is looked up only at an idle
  /// mailbox, or if the enqueued jobs or drained posts are less urgent than `.high`.
  ///
  /// - Returns: The priority of the job to enqueue, if any.
  mutating func arrive(_ poster: @autoclosure () -> Urgency) -> Urgency? {
    switch stage {
    case .idle:
      stage = .scheduled
      return request(poster())
    case .scheduled:
      return jobs &>> Urgency.high.bit == 0 ? request(poster()) : nil
    case .draining, .inline:
      let known = wanted ?? .background
      if known < .high { wanted = max(known, poster()) }
      return nil
    }
  }

  /// A job of this priority, unless one that is as urgent is on its way.
  private mutating func request(_ priority: Urgency) -> Urgency? {
    if jobs &>> priority.bit != 0 { return nil }
    jobs |= 1 &<< priority.bit
    return priority
  }

  /// Lets a poster that is on the target use an idle mailbox inline.
  mutating func beginInline() -> Bool {
    if stage != .idle { return false }
    stage = .inline
    return true
  }

  /// Notes that a job begins.
  ///
  /// - Returns: Whether the job is to deliver; if not, another job or poster delivers, or nothing
  ///   waits.
  mutating func begin(_ priority: Urgency) -> Bool {
    jobs &= ~(1 &<< priority.bit)
    switch stage {
    case .scheduled:
      stage = .draining
      return true
    case .draining:
      // The delivering job may have the requested messages in its batch, and may give way.
      wanted = max(wanted ?? .background, priority)
      return false
    case .idle, .inline:
      return false
    }
  }

  /// Ends the turn of a job or of an inline poster, whether or not anything is left.
  ///
  /// - Returns: The priority of the job to enqueue for the rest, if any.
  mutating func end(_ priority: Urgency, isEmpty: Bool) -> Urgency? {
    let urgency = max(wanted.take() ?? priority, priority)
    stage = isEmpty ? .idle : .scheduled
    return isEmpty ? nil : request(urgency)
  }

  /// Whether a post that arrived during this drain is more urgent than the drain.
  func isMoreUrgent(than priority: Urgency) -> Bool { wanted.map { $0 > priority } ?? false }

  /// Notes that a job was released without having run, so that what waits is discarded.
  mutating func giveUp(_ priority: Urgency) {
    jobs &= ~(1 &<< priority.bit)
    if stage == .scheduled { stage = .idle }
  }
}

/// The priority of a task, as a plain number.
///
/// The standard library's type has a layout that is looked up whenever a value of it is stored.
struct Urgency: Sendable, Hashable, Comparable {
  private let rawValue: UInt8

  init(_ priority: TaskPriority) { rawValue = priority.rawValue }

  private init(rawValue: UInt8) { self.rawValue = rawValue }

  static let background = Urgency(rawValue: 9)
  static let medium = Urgency(rawValue: 21)
  static let high = Urgency(rawValue: 25)

  /// The caller's priority; medium for a thread without one.
  static var ofCaller: Urgency {
    let own = Urgency(Task.currentPriority)
    return own.rawValue == 0 ? .medium : own
  }

  var priority: TaskPriority { TaskPriority(rawValue: rawValue) }

  /// The number of the bit that represents it in a set.
  var bit: UInt8 { min(rawValue, 63) }

  static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

extension Buffering {
  /// How a buffer treats an arriving value.
  enum Admission {
    /// There is room.
    case free
    /// The value replaces the oldest that waits.
    case inExchange
    /// The buffer is full.
    case refused
  }

  /// - Parameter count: How many values wait.
  func admission(beside count: Int) -> Admission {
    switch self {
    case .unbounded: .free
    case .newest(let capacity): count < capacity ? .free : .inExchange
    case .oldest(let capacity): count < capacity ? .free : .refused
    }
  }
}
