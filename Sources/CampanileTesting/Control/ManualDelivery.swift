public import Campanile

/// A delivery whose observers run when a test calls a run method.
///
/// ```swift
/// let manual = ManualDelivery()
/// let screen = Screen(center, delivery: manual.delivery)
/// center.post(TrackChanged(title: "Aria"))
/// // Nothing has been delivered: manual.pendingCount is 1.
/// manual.runAll()
/// ```
///
/// Posted messages wait until a run method is called. The observers run on the thread that calls
/// the run method, before it returns. As on a queue, a delivery is checked again when its turn
/// comes, and discarded with its owner. Unbounded observers are called in the order of the posts,
/// and so is each observer with a bounded buffer, but between these no order is promised. Code that
/// runs here, including the closure of ``run(_:)``, is on the place, so deliveries to it may run
/// inline.
///
/// Run it on one thread at a time; posting to it is safe from any thread. When a manual delivery is
/// released, the waiting deliveries are discarded.
public final class ManualDelivery: DeliveryTarget {
  /// Protected by the lock.
  private struct State {
    /// The jobs with deliveries to make: the mailbox, and each observer with a bounded buffer.
    var jobs: [DeliveryJob] = []
    /// The jobs whose deliveries are running, the innermost last.
    ///
    /// An observer may call a run method.
    var running: [DeliveryJob] = []
    var enqueuedCount = 0
    /// The threads that are inside `run`, once for each nested call.
    var threads: [UInt] = []
    var hasEnded = false
  }

  @TaskLocal private static var current: ManualDelivery?

  /// The waiting deliveries.
  ///
  /// The library uses it.
  public let mailbox = Mailbox()
  private let state = Locked(State())

  /// Creates a delivery without waiting messages.
  public init() {}

  /// The delivery to pass to `observe`.
  public var delivery: Delivery { .target(self) }

  /// The delivery to pass to code that observes on the main actor.
  ///
  /// Run it there: to run such an observer elsewhere is a precondition failure.
  public var main: MainDelivery { MainDelivery(delivery: delivery) }

  /// Whether the calling code runs here, and the place has not ended.
  public var isCurrent: Bool {
    // A task that was created here inherits the value, but does not run here.
    guard Self.current === self else { return false }
    let thread = CallingThread.id
    return state.withLock { !$0.hasEnded && $0.threads.contains(thread) }
  }

  /// Adds a job.
  ///
  /// The library calls it.
  public func enqueue(_ job: DeliveryJob) {
    state.withLock { state in
      state.enqueuedCount += 1
      if state.hasEnded { return }
      // What a job has left comes before the other jobs.
      let isRest = state.running.last?.source == job.source
      state.jobs.insert(job, at: isRest ? 0 : state.jobs.count)
    }
  }

  // MARK: Running

  /// The number of waiting deliveries.
  ///
  /// A message is one delivery for all unbounded observers that receive it here, another one for those
  /// of them with `ordered: true`, and one for each observer with a bounded buffer. A delivery to an unbounded observer that has ended counts until
  /// its turn comes.
  public var pendingCount: Int {
    let jobs = state.withLock { $0.jobs + $0.running }
    // A mailbox has several jobs if messages of several priorities wait there.
    var counted: Set<ObjectIdentifier> = []
    return jobs.reduce(0) { sum, job in
      counted.insert(job.source).inserted ? sum + job.pendingCount : sum
    }
  }

  /// Makes the oldest delivery of the unbounded observers, or of an observer with a bounded buffer.
  ///
  /// - Returns: Whether there was one.
  @discardableResult
  public func runNext() -> Bool {
    while let job = takeJob() {
      state.withLock { $0.running.append(job) }
      let hasDelivered = run { job.run(atMost: 1) }
      state.withLock { _ = $0.running.removeLast() }
      if hasDelivered { return true }
    }
    return false
  }

  /// Makes all deliveries, including those that are added during the call.
  ///
  /// It does not return if observers post to each other forever.
  ///
  /// - Returns: The number of deliveries.
  @discardableResult
  public func runAll() -> Int {
    var count = 0
    while runNext() { count += 1 }
    return count
  }

  /// Runs `body` on this place.
  public func run<Result>(_ body: () throws -> Result) rethrows -> Result {
    let thread = CallingThread.id
    state.withLock { $0.threads.append(thread) }
    defer {
      state.withLock { state in
        if let index = state.threads.lastIndex(of: thread) { state.threads.remove(at: index) }
      }
    }
    return try Self.$current.withValue(self) { try body() }
  }

  /// Ends the place, as the end of a thread does.
  ///
  /// Waiting and later deliveries are discarded.
  ///
  /// A second call does nothing.
  public func end() {
    let jobs = state.withLock { state in
      state.hasEnded = true
      defer { state.jobs = [] }
      return state.jobs
    }
    withExtendedLifetime(jobs) {}
  }

  // MARK: Jobs

  /// How often the library has enqueued a job.
  package var enqueuedCount: Int { state.withLock { $0.enqueuedCount } }

  /// Removes the next job.
  package func takeJob() -> DeliveryJob? {
    state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
  }
}
