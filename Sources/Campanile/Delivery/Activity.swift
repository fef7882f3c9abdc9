/// Who is emptying a mailbox, and which jobs are on their way to it.
///
/// A part of `MailboxState`. A job is enqueued by the first post to find the mailbox idle, and by a
/// more urgent post while the jobs on their way have not begun. The job that begins first empties the
/// mailbox; the others then find nothing to do.
struct Activity {
  private enum Stage {
    case idle
    /// Something waits, and a job is on its way.
    case scheduled
    /// A job is delivering.
    case draining
    /// A poster that is on the target runs observers itself.
    case inline
  }

  private var stage = Stage.idle
  /// The priorities of the jobs on their way, one bit each: so there are never two of one priority.
  private var jobs: UInt64 = 0
  /// The most urgent post that came during a drain, or before a job that has come during it.
  private var wanted: Urgency?

  var isIdle: Bool { stage == .idle }

  /// Takes in that something waits.
  ///
  /// The poster's priority is looked up, at about the price of a lock, only at an idle mailbox, and
  /// where the jobs on their way or the posts during a drain are less urgent than `.high`.
  ///
  /// - Returns: The priority of the job that is to be enqueued, if one is.
  mutating func arrive() -> Urgency? {
    switch stage {
    case .idle:
      stage = .scheduled
      return request(.ofCaller)
    case .scheduled:
      return jobs &>> Urgency.high.bit == 0 ? request(.ofCaller) : nil
    case .draining, .inline:
      let known = wanted ?? .background
      if known < .high { wanted = max(known, .ofCaller) }
      return nil
    }
  }

  /// A job of this priority, unless one that is as urgent is on its way.
  @inline(__always)
  private mutating func request(_ priority: Urgency) -> Urgency? {
    if jobs &>> priority.bit != 0 { return nil }
    jobs |= 1 &<< priority.bit
    return priority
  }

  /// Gives an idle mailbox to a poster that is on the target.
  mutating func beginInline() -> Bool {
    if stage != .idle { return false }
    stage = .inline
    return true
  }

  /// Takes in that a job begins.
  ///
  /// - Returns: Whether the job is to deliver; if not, somebody else does, or nothing waits.
  mutating func begin(_ priority: Urgency) -> Bool {
    jobs &= ~(1 &<< priority.bit)
    switch stage {
    case .scheduled:
      stage = .draining
      return true
    case .draining:
      // What it was asked for may be in the batch of the one that delivers, which may give way.
      wanted = max(wanted ?? .background, priority)
      return false
    case .idle, .inline:
      return false
    }
  }

  /// Ends the turn of a job or of an inline poster, with nothing left or with something.
  ///
  /// - Returns: The priority of the job that is to be enqueued for the rest, if one is.
  mutating func end(_ priority: Urgency, isEmpty: Bool) -> Urgency? {
    let urgency = max(wanted.take() ?? priority, priority)
    stage = isEmpty ? .idle : .scheduled
    return isEmpty ? nil : request(urgency)
  }

  /// Whether a post has come during this drain that is more urgent than the drain.
  func isMoreUrgent(than priority: Urgency) -> Bool { wanted.map { $0 > priority } ?? false }

  /// Takes in that a job was released without having run, so that what waits is given up.
  mutating func giveUp(_ priority: Urgency) {
    jobs &= ~(1 &<< priority.bit)
    if stage == .scheduled { stage = .idle }
  }
}
