import Campanile

/// A clock whose time changes only when a test advances it.
///
/// Pass it to code that takes a clock:
///
/// ```swift
/// let clock = VirtualClock()
/// let alarm = Alarm(after: .seconds(60), clock: clock)
/// try await clock.waitForSleepers()
/// clock.advance(by: .seconds(60))
/// ```
///
/// ``advance(by:)`` wakes the tasks that sleep until then, but does not wait for them. If a task
/// sleeps repeatedly, advance the clock in steps, with
/// ``waitForSleepers(_:within:clock:file:line:)`` before each step, which takes no real time.
///
/// A recorder can measure its time limits by this clock, too. Then only an advance ends the wait
/// for a value that does not arrive, so if no other task advances the clock, the test waits
/// forever.
///
/// All methods are safe to call from any thread.
public final class VirtualClock: Clock {
  /// A point in a virtual clock's time.
  public struct Instant: InstantProtocol {
    /// The time since the clock was created.
    public let offset: Duration

    /// Creates the instant at a time since the clock was created.
    public init(offset: Duration) { self.offset = offset }

    /// The instant that is later by `duration`.
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

    /// The time from here to `other`.
    public func duration(to other: Instant) -> Duration { other.offset - offset }

    /// Whether one instant is before another.
    public static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
  }

  fileprivate struct Sleeper {
    let deadline: Instant
    let alarm: Tally
  }

  /// Protected by the lock.
  fileprivate struct State {
    var now = Instant(offset: .zero)
    var lastSleeper = 0
    var sleepers: [Int: Sleeper] = [:]
    /// The tasks that were canceled before they slept.
    var canceled: Set<Int> = []
  }

  private let state = Locked(State())
  private let sleeping = Tally()

  /// Creates a clock at time zero.
  public init() {}

  /// The time to which the clock was advanced.
  public var now: Instant { state.withLock { $0.now } }

  /// Zero: the clock can be advanced to any instant.
  public var minimumResolution: Duration { .zero }

  /// The number of sleeping tasks.
  ///
  /// The time limit of a waiting expectation is one of them, if this clock measures it.
  public var sleeperCount: Int { sleeping.value }

  /// Sleeps until the clock has been advanced to `deadline`.
  ///
  /// It returns at once if the clock has already reached `deadline`.
  ///
  /// - Throws: `CancellationError` if the task is canceled before.
  public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let alarm = Tally()
    let id = state.withLock { state in
      state.lastSleeper += 1
      return state.lastSleeper
    }
    defer { state.withLock { $0.end(id) } }
    try await withTaskCancellationHandler {
      let sleeps = state.withLock { $0.begin(id, Sleeper(deadline: deadline, alarm: alarm)) }
      if sleeps { sleeping.add() }
      if sleeps { await alarm.waitRegardless() }
      try Task.checkCancellation()
    } onCancel: {
      // Done here and not in the task, so that `sleeperCount` is correct as soon as `cancel()`
      // returns.
      let wasAsleep = state.withLock { $0.cancel(id) }
      if wasAsleep { sleeping.add(-1) }
      alarm.add()
    }
  }

  /// Advances the clock, and wakes the tasks that sleep until then, earliest first.
  ///
  /// A negative duration is a precondition failure.
  public func advance(by duration: Duration) {
    require(duration >= .zero, "A virtual clock was to be advanced by \(duration)")
    wake { $0.advanced(by: duration) }
  }

  /// Advances the clock to `instant`.
  ///
  /// If that is in the past, nothing changes.
  public func advance(to instant: Instant) { wake { max($0, instant) } }

  private func wake(at next: (Instant) -> Instant) {
    let due = state.withLock { state -> [(key: Int, value: Sleeper)] in
      state.now = next(state.now)
      let due = state.sleepers.filter { $0.value.deadline <= state.now }
      for id in due.keys { state.sleepers[id] = nil }
      return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
    }
    sleeping.add(-due.count)
    for sleeper in due { sleeper.value.alarm.add() }
  }

  /// Waits until at least `count` tasks sleep.
  ///
  /// The tasks are those that ``sleeperCount`` counts, including time limits of expectations.
  ///
  /// - Parameters:
  ///   - count: The number of tasks.
  ///   - limit: How long it may take.
  ///   - clock: The clock that measures the limit. Do not pass this clock, because it does not
  ///     advance during the wait.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  /// - Throws: An ``ExpectationFailure`` if too few tasks slept in time, and `CancellationError` if
  ///   the task is canceled.
  public func waitForSleepers(
    _ count: Int = 1, within limit: Duration = .seconds(10),
    clock: any Clock<Duration> = ContinuousClock(), file: StaticString = #fileID,
    line: UInt = #line
  ) async throws {
    switch await sleeping.wait(for: count, TimeLimit(limit, by: clock)) {
    case .reached: return
    case .canceled: throw CancellationError()
    case .timedOut:
      throw ExpectationFailure(
        .timedOut,
        "Expected \(counted(count, "sleeper")) of the clock within \(limit), and there "
          + "\(sleeperCount == 1 ? "was" : "were") \(sleeperCount).", Caller(file, line))
    }
  }
}

extension VirtualClock.State {
  /// - Returns: Whether the task has to sleep.
  fileprivate mutating func begin(_ id: Int, _ sleeper: VirtualClock.Sleeper) -> Bool {
    if canceled.contains(id) || sleeper.deadline <= now { return false }
    sleepers[id] = sleeper
    return true
  }

  /// - Returns: Whether the task was asleep.
  fileprivate mutating func cancel(_ id: Int) -> Bool {
    canceled.insert(id)
    return sleepers.removeValue(forKey: id) != nil
  }

  /// Forgets a task that has woken up.
  fileprivate mutating func end(_ id: Int) { canceled.remove(id) }
}
