public import Campanile

/// A place where observers run when a test says so.
///
/// ```swift
/// let manual = ManualDelivery()
/// let screen = Screen(center, delivery: manual.delivery)
/// center.post(TrackChanged(title: "Aria"))
/// // Nothing has been delivered: manual.pendingCount is 1.
/// manual.runAll()
/// ```
///
/// What is posted waits, in the order of the posts, until a run method is called: the observers run
/// on that thread, before it returns. The deliveries are real ones: checked again when their turn
/// comes, discarded with their owner, and none is left out or reordered. Code that runs here, and
/// what ``run(_:)`` is given, is on the place: deliveries to it may run inline, as on a queue.
///
/// Run it on one thread at a time. Posting to it is safe from any thread. What waits for a manual
/// delivery that is released is discarded.
public final class ManualDelivery: DeliveryTarget {
  /// Protected by the lock.
  private struct State {
    /// What has something to deliver: the mailbox, and each observer with a bounded buffer.
    var jobs: [DeliveryJob] = []
    /// The job whose delivery is running.
    var running: DeliveryJob?
    var enqueuedCount = 0
    /// The threads that are inside of `run`, each as often as it is.
    var threads: [UInt] = []
    var hasEnded = false
  }

  @TaskLocal private static var current: ManualDelivery?

  /// What waits here; for the library.
  public let mailbox = Mailbox()
  private let state = Locked(State())

  /// Creates a place where nothing waits.
  public init() {}

  /// The delivery to observe with.
  public var delivery: Delivery { .target(self) }

  /// Whether the calling code runs here.
  public var isCurrent: Bool {
    // A task that was made here inherits the value, and does not run here.
    guard Self.current === self else { return false }
    let thread = SourceRegistry.currentThread
    return state.withLock { $0.threads.contains(thread) }
  }

  /// Takes a job; for the library.
  public func enqueue(_ job: DeliveryJob) {
    state.withLock { state in
      state.enqueuedCount += 1
      if !state.hasEnded { state.jobs.append(job) }
    }
  }

  // MARK: Running

  /// How many deliveries wait.
  ///
  /// A message is one delivery for all unbounded observers that hear it here, and one for each with
  /// a bounded buffer. What was ended meanwhile counts until its turn comes.
  public var pendingCount: Int {
    let jobs = state.withLock { $0.jobs + [$0.running].compactMap { $0 } }
    // A mailbox has several jobs if messages of several priorities wait there.
    var counted: Set<ObjectIdentifier> = []
    return jobs.reduce(0) { sum, job in
      guard let source = job.source, counted.insert(source).inserted else { return sum }
      return sum + job.pendingCount
    }
  }

  /// Makes the oldest delivery.
  ///
  /// - Returns: whether there was one.
  @discardableResult
  public func runNext() -> Bool {
    while let job = takeJob() {
      let outer = exchangeRunning(job)
      let step = run {
        let step = job.runNext()
        if step == .more { putBack(job) }
        return step
      }
      _ = exchangeRunning(outer)
      if step != .nothing { return true }
    }
    return false
  }

  /// Makes all deliveries, those that come meanwhile included.
  ///
  /// Observers that post to each other forever keep it from returning.
  ///
  /// - Returns: how many there were.
  @discardableResult
  public func runAll() -> Int {
    var count = 0
    while runNext() { count += 1 }
    return count
  }

  /// Runs `body` as code that is on this place.
  public func run<Result>(_ body: () throws -> Result) rethrows -> Result {
    let thread = SourceRegistry.currentThread
    state.withLock { $0.threads.append(thread) }
    defer {
      state.withLock { state in
        if let index = state.threads.lastIndex(of: thread) { state.threads.remove(at: index) }
      }
    }
    return try Self.$current.withValue(self) { try body() }
  }

  /// Ends the place, as a thread that ends: what waits, and what comes later, is discarded.
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

  /// Takes out the job whose turn it is.
  package func takeJob() -> DeliveryJob? {
    state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
  }

  /// Lets a job that has more to deliver go on before the others.
  private func putBack(_ job: DeliveryJob) {
    // Released outside the lock, if this place has ended.
    state.withLock { if !$0.hasEnded { $0.jobs.insert(job, at: 0) } }
  }

  private func exchangeRunning(_ job: DeliveryJob?) -> DeliveryJob? {
    state.withLock { state in
      defer { state.running = job }
      return state.running
    }
  }
}
