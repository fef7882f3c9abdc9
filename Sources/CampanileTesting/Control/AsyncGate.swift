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
  /// Only ``open()`` ends the wait, and cancellation doesn't: the test decides when the observer goes
  /// on. If the gate is not open after ten seconds, a line with the place of the call goes to standard
  /// error.
  ///
  /// - Parameters:
  ///   - file: The caller's file, for that line.
  ///   - line: The caller's line.
  public func pass(file: StaticString = #fileID, line: UInt = #line) async {
    await pass(warningAfter: Gate.patience) { Gate.warn(Caller(file, line)) }
  }

  func pass(
    warningAfter patience: Duration, _ warn: @escaping @Sendable () -> Void
  ) async {
    arrived.add()
    if opened.value > 0 { return }
    let warning = Task {
      if await TimeLimit(patience, by: ContinuousClock()).pass() { warn() }
    }
    await opened.waitRegardless()
    warning.cancel()
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
