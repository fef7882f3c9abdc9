/// How long an expectation waits, and by which clock.
struct TimeLimit: Sendable {
  let duration: Duration
  private let sleep: @Sendable () async -> Bool

  /// A limit that runs from now on; by a clock of the system, from when ``pass()`` gets to run.
  init(_ duration: Duration, by clock: any Clock<Duration>) {
    self.duration = duration
    sleep = Self.makeSleep(duration, clock)
  }

  private static func makeSleep(
    _ duration: Duration, _ clock: some Clock<Duration>
  ) -> @Sendable () async -> Bool {
    // Fixed here, so that a virtual clock which is advanced before the sleep begins counts. A clock
    // that goes by itself does not count yet: while all threads of tasks are busy with other tests,
    // what is waited for is held up as the sleep is, and must not lose its time by that.
    let goesByItself = clock is ContinuousClock || clock is SuspendingClock
    let deadline = goesByItself ? nil : clock.now.advanced(by: duration)
    return {
      do {
        let deadline = deadline ?? clock.now.advanced(by: duration)
        try await clock.sleep(until: deadline, tolerance: nil)
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
