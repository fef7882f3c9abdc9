import Synchronization

/// Deliveries that are due on a target.
///
/// Run it once, on the target; a second `run()` does nothing. If a job is released without having
/// run, its target has ended, so the mailbox discards the deliveries that wait.
///
/// Several jobs of different priorities may be enqueued for one mailbox. The first to run delivers,
/// and the others find nothing to do.
public final class DeliveryJob: Sendable {
  /// The priority of the most urgent post that asked for this job.
  ///
  /// A post from a thread without a priority counts as medium.
  public var priority: TaskPriority { urgency.priority }

  let urgency: Urgency
  private let mailbox: Mailbox
  /// An action that the job does instead of delivering.
  private let action: (@Sendable () -> Void)?
  /// Whether it has been run, and has nothing to discard.
  private let isDone = Atomic<Bool>(false)
  /// Not retained, because a target that stores its jobs would retain itself.
  weak let target: (any DeliveryTarget)?

  init(
    _ mailbox: Mailbox, _ priority: Urgency, on target: any DeliveryTarget,
    _ action: (@Sendable () -> Void)? = nil
  ) {
    self.mailbox = mailbox
    urgency = priority
    self.target = target
    self.action = action
  }

  deinit {
    // Pairs with `take`: nobody else has the job any more.
    if !isDone.load(ordering: .acquiring) { mailbox.discardPending(urgency) }
  }

  /// Whether the caller is the one that runs the job.
  func take() -> Bool {
    // Pairs with `take`, and with the end: of two callers, one reads false.
    !isDone.exchange(true, ordering: .acquiringAndReleasing)
  }

  /// Delivers what is waiting.
  ///
  /// Call it on the target.
  public func run() { run(atMost: DrainBudget.deliveryLimit) }

  /// Delivers the oldest of what is waiting; another job is enqueued for the rest.
  ///
  /// - Returns: Whether anything was waiting that no other job delivers.
  @discardableResult
  package func run(atMost limit: Int) -> Bool {
    guard take() else { return false }
    guard let action else { return mailbox.drain(urgency, on: target, atMost: limit) }
    action()
    return true
  }

  /// How many deliveries are waiting where the job delivers.
  package var pendingCount: Int { action == nil ? mailbox.waitingCount : 1 }

  /// The identity of the mailbox that the job drains.
  package var source: ObjectIdentifier { ObjectIdentifier(mailbox) }
}

/// What is left of one job's turn, after which it yields the target.
struct DrainBudget {
  /// How many deliveries a job makes at most.
  static let deliveryLimit = 1_024
  /// How long a job delivers if time is limited, in nanoseconds.
  static let timeLimit: UInt64 = 4_000_000

  /// Returns nanoseconds of a monotonic clock.
  typealias Clock = @Sendable () -> UInt64

  private let clock: Clock?
  private let start: UInt64
  private var left: Int

  /// - Parameter clock: For the main queue, where a person waits; `nil` if only deliveries are counted.
  init(atMost limit: Int, _ clock: Clock?) {
    self.clock = clock
    start = clock?() ?? 0
    left = limit
  }

  var isOver: Bool { left == 0 }

  /// How many deliveries may be made before the next call of `note`.
  ///
  /// It is 1 if time is limited, because an observer may take long.
  var allowance: Int { clock == nil ? left : min(left, 1) }

  mutating func note(_ count: Int) {
    left -= count
    if let clock, clock() &- start >= Self.timeLimit { left = 0 }
  }
}
