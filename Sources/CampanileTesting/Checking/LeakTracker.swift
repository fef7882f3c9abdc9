import Campanile

/// Knows objects that should be gone by the end of a test.
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
/// The objects are held weakly. Looking at one takes hold of it for a moment, so that its last
/// release can be on the thread that looks. All methods are safe from any thread.
public final class LeakTracker: Sendable {
  private struct Entry {
    let object: SubjectReference<AnyObject>
    let name: String
    let caller: Caller
  }

  /// An object for a closure to capture, whose end shows that the closure has gone.
  public final class Probe: Sendable {
    fileprivate init() {}

    /// Does nothing; a closure captures what it uses.
    public func touch() {}
  }

  private let state = Locked<[Entry]>([])

  /// Creates a tracker that knows no objects.
  public init() {}

  /// Expects that `object` will be gone.
  ///
  /// - Parameters:
  ///   - object: What is tracked; not kept.
  ///   - name: What failures call it; its type, if left out.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  public func track(
    _ object: some AnyObject, as name: String? = nil, file: StaticString = #fileID,
    line: UInt = #line
  ) {
    let name = name ?? "\(type(of: object))"
    let entry = Entry(object: SubjectReference(object), name: name, caller: Caller(file, line))
    state.withLock { $0.append(entry) }
  }

  /// Makes an object for a closure to capture, and expects that it will be gone.
  public func makeProbe(
    _ name: String, file: StaticString = #fileID, line: UInt = #line
  ) -> Probe {
    let probe = Probe()
    track(probe, as: name, file: file, line: line)
    return probe
  }

  /// What is left, each with its name and where it was tracked, oldest first.
  public var alive: [String] {
    let entries = state.withLock { $0 }
    return entries.compactMap { entry in
      entry.object.current.flatMap { $0 }.map { _ in
        "\(entry.name) (\(entry.caller.file):\(entry.caller.line))"
      }
    }
  }

  /// Checks that all objects are gone.
  public func expectGone(file: StaticString = #fileID, line: UInt = #line) throws {
    let alive = alive
    if !alive.isEmpty { throw failure(alive, "", Caller(file, line)) }
  }

  /// Waits until all objects are gone: those that other tasks and threads let go of.
  ///
  /// Nobody says when an object ends, so it looks again a hundred times, by the clock.
  ///
  /// - Parameters:
  ///   - limit: How long it may take.
  ///   - clock: By which clock.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  public func expectGone(
    within limit: Duration, clock: any Clock<Duration> = ContinuousClock(),
    file: StaticString = #fileID, line: UInt = #line
  ) async throws {
    for _ in 0..<100 where !alive.isEmpty { try await clock.sleep(for: limit / 100) }
    let alive = alive
    if !alive.isEmpty { throw failure(alive, " within \(limit)", Caller(file, line)) }
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
