/// Holds tasks until a test lets them continue, for instance an asynchronous observer in the middle
/// of its call.
///
/// Unlike a ``Gate``, it suspends tasks and blocks no thread. All methods are safe to call from any
/// thread.
public final class AsyncGate: Sendable {
  private let arrived = Tally()
  private let opened = Tally()

  /// Creates a closed gate.
  public init() {}

  /// The number of arrivals at the gate.
  public var arrivalCount: Int { arrived.value }

  /// Records an arrival, and suspends the task until the gate is open.
  ///
  /// Cancellation doesn't end the wait, because the test decides when the observer continues. If
  /// the gate is not open after ten seconds, a line with the place of the call is written to
  /// standard error. After `limit`, the gate opens by itself, and another line says so, so that a
  /// test that forgot to open it ends.
  ///
  /// - Parameters:
  ///   - limit: The longest time that the task is held, by the system's clock.
  ///   - file: The caller's file, for those lines.
  ///   - line: The caller's line.
  public func pass(
    within limit: Duration = .seconds(60), file: StaticString = #fileID, line: UInt = #line
  ) async {
    await pass(warningAfter: Gate.patience, within: limit) { Gate.warn($0, Caller(file, line)) }
  }

  func pass(
    warningAfter patience: Duration, within limit: Duration,
    by clock: any Clock<Duration> = ContinuousClock(),
    _ warn: @escaping @Sendable (Gate.Warning) -> Void
  ) async {
    arrived.add()
    if opened.value > 0 { return }
    let watch = Task { [opened] in
      if patience < limit {
        guard await TimeLimit(patience, by: clock).pass() else { return }
        warn(.held(patience))
      }
      let rest = patience < limit ? limit - patience : limit
      guard await TimeLimit(rest, by: clock).pass() else { return }
      warn(.opened(limit))
      opened.add()
    }
    await opened.waitRegardless()
    watch.cancel()
  }

  /// Waits until tasks have arrived at the gate.
  ///
  /// - Parameters:
  ///   - count: The number of arrivals, since the gate was created.
  ///   - limit: How long it may take. After that, an ``ExpectationFailure`` is thrown.
  ///   - clock: The clock that measures the limit.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  public func reached(
    by count: Int = 1, within limit: Duration = .seconds(10),
    clock: any Clock<Duration> = ContinuousClock(), file: StaticString = #fileID,
    line: UInt = #line
  ) async throws {
    try await arrived.expectArrivals(count, TimeLimit(limit, by: clock), Caller(file, line))
  }

  /// Lets all waiting and all later tasks continue.
  ///
  /// A second call does nothing.
  public func open() { opened.add() }
}
