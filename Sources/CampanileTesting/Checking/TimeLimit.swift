/// How long an expectation waits, and the clock that measures it.
struct TimeLimit: Sendable {
  /// A longer limit counts as this one.
  ///
  /// The sleep of the system's clocks traps at a time that does not fit into nanoseconds.
  static let longest = Duration.seconds(Int32.max)
  /// The number of steps in which a limit passes by a clock of the system.
  ///
  /// A step ends when the machine finds time for it, as the awaited work must. So an overloaded
  /// machine extends the limit, and what is merely late is not taken for lost.
  static let steps = 100

  let duration: Duration
  private let sleep: @Sendable () async -> Bool

  /// Creates a limit that begins now.
  ///
  /// With a clock of the system, it begins when ``pass()`` runs.
  init(_ duration: Duration, by clock: any Clock<Duration>) {
    self.duration = duration
    sleep = Self.makeSleep(duration, clock)
  }

  private static func makeSleep(
    _ duration: Duration, _ clock: some Clock<Duration>
  ) -> @Sendable () async -> Bool {
    // The deadline of a virtual clock is fixed here, so that an advance before the sleep begins
    // counts. A clock of the system starts later: while other tests occupy all threads, the awaited
    // work is delayed as much as the sleep. That delay must not use up its time.
    let goesByItself = clock is ContinuousClock || clock is SuspendingClock
    let deadline = goesByItself ? nil : clock.now.advanced(by: duration)
    return {
      do {
        if let deadline {
          try await clock.sleep(until: deadline, tolerance: nil)
        } else {
          for _ in 0..<steps { try await clock.sleep(for: min(duration, longest) / steps) }
        }
        return true
      } catch {
        return false
      }
    }
  }

  /// Waits until the limit has passed.
  ///
  /// - Returns: `false` if the task was canceled before.
  func pass() async -> Bool { await sleep() }
}
