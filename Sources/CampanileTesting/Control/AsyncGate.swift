/// Holds tasks until a test lets them go on: an asynchronous observer in the middle of its call,
/// say.
///
/// As ``Gate``, without blocking a thread. All methods are safe from any thread.
public final class AsyncGate: Sendable {
  private let arrived = Tally()
  private let opened = Tally()

  /// Creates a closed gate.
  public init() {}

  /// How often somebody has come to the gate.
  public var arrivalCount: Int { arrived.value }

  /// Says that the task is here, and suspends it until the gate is open.
  ///
  /// Cancellation doesn't end the wait: the test decides when the observer goes on. If the gate is not
  /// open after ten seconds, a line with the place of the call goes to standard error. After `limit`
  /// the gate opens by itself, and another line says so: a test that forgot to open it ends.
  ///
  /// - Parameters:
  ///   - limit: How long the task is held at most, by the system's clock.
  ///   - file: The caller's file, for those lines.
  ///   - line: The caller's line.
  public func pass(
    within limit: Duration = .seconds(600), file: StaticString = #fileID, line: UInt = #line
  ) async {
    await pass(warningAfter: Gate.patience, within: limit) { Gate.warn($0, Caller(file, line)) }
  }

  func pass(
    warningAfter patience: Duration, within limit: Duration,
    _ warn: @escaping @Sendable (Gate.Warning) -> Void
  ) async {
    arrived.add()
    if opened.value > 0 { return }
    let watch = Task { [opened] in
      if patience < limit {
        guard await TimeLimit(patience, by: ContinuousClock()).pass() else { return }
        warn(.held(patience))
      }
      let rest = patience < limit ? limit - patience : limit
      guard await TimeLimit(rest, by: ContinuousClock()).pass() else { return }
      warn(.opened(limit))
      opened.add()
    }
    await opened.waitRegardless()
    watch.cancel()
  }

  /// Waits until tasks have come to the gate.
  ///
  /// - Parameters:
  ///   - count: How many, since the gate was made.
  ///   - limit: How long it may take; then an ``ExpectationFailure`` is thrown.
  ///   - clock: By which clock.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  public func reached(
    by count: Int = 1, within limit: Duration = .seconds(10),
    clock: any Clock<Duration> = ContinuousClock(), file: StaticString = #fileID,
    line: UInt = #line
  ) async throws {
    try await arrived.expectArrivals(count, TimeLimit(limit, by: clock), Caller(file, line))
  }

  /// Lets whoever waits, and all who come later, go on.
  ///
  /// A second call does nothing more.
  public func open() { opened.add() }
}
