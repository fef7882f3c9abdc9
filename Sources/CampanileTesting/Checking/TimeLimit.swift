/// How long an expectation waits, and by which clock.
struct TimeLimit: Sendable {
  let duration: Duration
  private let sleep: @Sendable () async -> Bool

  /// A limit that runs from now on.
  init(_ duration: Duration, by clock: any Clock<Duration>) {
    self.duration = duration
    sleep = Self.makeSleep(duration, clock)
  }

  private static func makeSleep(
    _ duration: Duration, _ clock: some Clock<Duration>
  ) -> @Sendable () async -> Bool {
    // Fixed here, so that a virtual clock which is advanced before the sleep begins counts.
    let deadline = clock.now.advanced(by: duration)
    return {
      do {
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
