/// The activity at a mailbox: which job or poster drains it, and which jobs are enqueued for it.
///
/// It is a part of `MailboxState`. The first post to find the mailbox idle enqueues a job, and so
/// does a more urgent post, as long as no enqueued job has begun. The job that begins first drains
/// the mailbox; the others then find nothing to do.
struct Activity: ~Copyable {
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
