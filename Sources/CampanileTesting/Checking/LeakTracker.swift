import Campanile

/// Tracks objects that should be released by the end of a test.
///
/// ```swift
/// let leaks = LeakTracker()
/// do {
///   let screen = Screen(center)
///   leaks.track(screen)
///   let token = center.observe(TrackChanged.self) { [probe = leaks.makeProbe("closure")] _ in
///     probe.touch()
///   }
///   token.cancel()
/// }
/// try leaks.expectGone()
/// ```
///
/// The objects are held weakly. A check retains each object for a moment, so the last release can
/// be on the thread that checks. All methods are safe to call from any thread.
public final class LeakTracker: Sendable {
  private struct Entry {
    let object: OwnerReference<AnyObject>
    let name: String
    let caller: Caller
  }

  /// An object for a closure to capture.
  ///
  /// Its end shows that the closure has been released.
  public final class Probe: Sendable {
    fileprivate init() {}

    /// Does nothing.
    ///
    /// Calling it makes a closure capture the probe.
    public func touch() {}
  }

  private let state = Locked<[Entry]>([])

  /// Creates a tracker without objects.
  public init() {}

  /// Tracks `object`, which should be released by the end of the test.
  ///
  /// - Parameters:
  ///   - object: The object, which is held weakly.
  ///   - name: Its name in failures, by default its type.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  public func track(
    _ object: some AnyObject, as name: String? = nil, file: StaticString = #fileID,
    line: UInt = #line
  ) {
    let name = name ?? "\(type(of: object))"
    let entry = Entry(object: OwnerReference(object), name: name, caller: Caller(file, line))
    state.withLock { $0.append(entry) }
  }

  /// Creates and tracks an object for a closure to capture.
  ///
  /// - Parameters:
  ///   - name: The name of the closure in failures.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  /// - Returns: The object. Do not store it elsewhere, because the closure must be its only owner.
  public func makeProbe(
    _ name: String, file: StaticString = #fileID, line: UInt = #line
  ) -> Probe {
    let probe = Probe()
    track(probe, as: name, file: file, line: line)
    return probe
  }

  /// The objects that still live, each with its name and the place where it was tracked, oldest
  /// first.
  public var alive: [String] {
    let entries = state.withLock { $0 }
    return entries.compactMap { entry in
      entry.object.object.map { _ in
        "\(entry.name) (\(entry.caller.file):\(entry.caller.line))"
      }
    }
  }

  /// Checks that all objects have been released.
  ///
  /// - Throws: An ``ExpectationFailure`` that names the objects that still live.
  public func expectGone(file: StaticString = #fileID, line: UInt = #line) throws {
    let alive = alive
    if !alive.isEmpty { throw failure(alive, "", Caller(file, line)) }
  }

  /// Waits until all objects have been released, by any task or thread.
  ///
  /// The end of an object cannot be observed, so this checks a hundred times within the limit.
  ///
  /// - Parameters:
  ///   - limit: How long it may take.
  ///   - clock: The clock that measures the limit.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  /// - Throws: An ``ExpectationFailure`` that names the objects that still live after the limit. If
  ///   the task is canceled first, the error of the clock, such as `CancellationError`.
  public func expectGone(
    within limit: Duration, clock: any Clock<Duration> = ContinuousClock(),
    file: StaticString = #fileID, line: UInt = #line
  ) async throws {
    try await waitUntilGone(within: limit, clock)
    let alive = alive
    if !alive.isEmpty { throw failure(alive, " within \(limit)", Caller(file, line)) }
  }

  private func waitUntilGone(within limit: Duration, _ clock: some Clock<Duration>) async throws {
    let (start, limit) = (clock.now, min(limit, TimeLimit.longest))
    for step in 1...100 where !alive.isEmpty {
      // Counted from the start: a late step must not make the others later, and a virtual clock that
      // is advanced by the limit at once ends them all.
      try await clock.sleep(until: start.advanced(by: limit / 100 * step), tolerance: nil)
    }
  }

  private func failure(
    _ alive: [String], _ limit: String, _ caller: Caller
  ) -> ExpectationFailure {
    ExpectationFailure(
      .alive,
      "Expected everything to be gone\(limit), and \(counted(alive.count, "object")) "
        + "\(alive.count == 1 ? "lives" : "live"): \(alive.joined(separator: ", ")).", caller)
  }
}
