import Campanile
import Dispatch

/// Holds a thread until a test lets it continue, for instance an observer in the middle of its
/// call.
///
/// ```swift
/// let gate = Gate()
/// let token = center.observe(TrackChanged.self, on: .queue(queue)) { _ in gate.pass() }
/// center.post(TrackChanged(title: "Aria"))
/// try await gate.reached()  // from here on the observer is in mid-call
/// token.cancel()
/// gate.open()
/// ```
///
/// The observer calls ``pass(within:file:line:)``, which blocks its thread, so use a gate for
/// observers on other threads and queues than the test's; for asynchronous observers, use an
/// ``AsyncGate``. An open gate lets all threads pass. All methods are safe to call from any thread.
public final class Gate: Sendable {
  private let arrivals = DispatchSemaphore(value: 0)
  private let opened = DispatchSemaphore(value: 0)
  private let arrived = Tally()

  /// Creates a closed gate.
  public init() {}

  /// The number of arrivals at the gate.
  public var arrivalCount: Int { arrived.value }

  /// How long a gate holds a thread before it writes a warning.
  static let patience = Duration.seconds(10)

  /// Records an arrival, and blocks the thread until the gate is open.
  ///
  /// If the gate is not open after ten seconds, a line with the place of the call is written to
  /// standard error. After `limit`, the gate opens by itself, and another line says so, so that a
  /// test that forgot to open it ends.
  ///
  /// - Parameters:
  ///   - limit: The longest time that the thread is held, by the system's clock.
  ///   - file: The caller's file, for those lines.
  ///   - line: The caller's line.
  public func pass(
    within limit: Duration = .seconds(60), file: StaticString = #fileID, line: UInt = #line
  ) {
    pass(warningAfter: Self.patience, within: limit) { Self.warn($0, Caller(file, line)) }
  }

  func pass(warningAfter patience: Duration, within limit: Duration, _ warn: (Warning) -> Void) {
    arrived.add()
    arrivals.signal()
    // Each thread that passes lets the next one pass.
    defer { opened.signal() }
    if opened.wait(for: min(patience, limit)) { return }
    if patience < limit {
      warn(.held(patience))
      if opened.wait(for: limit - patience) { return }
    }
    warn(.opened(limit))
  }

  /// Blocks the calling thread until a thread has arrived at the gate.
  ///
  /// Each call waits for another arrival. In asynchronous code, use
  /// ``reached(by:within:clock:file:line:)``.
  ///
  /// - Parameters:
  ///   - limit: How long it may take, by the system's clock.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  /// - Throws: An ``ExpectationFailure`` if no thread arrived in time.
  public func waitUntilReached(
    within limit: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line
  ) throws {
    if arrivals.wait(for: limit) { return }
    throw ExpectationFailure(
      .timedOut,
      "Expected another arrival at the gate within \(limit), after \(arrivalCount) in all.",
      Caller(file, line))
  }

  /// Waits until threads have arrived at the gate.
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

  /// Lets all waiting and all later threads continue.
  ///
  /// A second call does nothing.
  public func open() { opened.signal() }
}

extension DispatchSemaphore {
  /// Waits for a signal, in the steps of a ``TimeLimit``.
  ///
  /// - Returns: Whether there was one in time.
  fileprivate func wait(for limit: Duration) -> Bool {
    let step = DispatchTimeInterval(limit / TimeLimit.steps)
    for _ in 0..<TimeLimit.steps where wait(timeout: .now() + step) == .success { return true }
    return false
  }
}

extension DispatchTimeInterval {
  fileprivate init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    let nanoseconds = attoseconds / 1_000_000_000
    // A duration that does not fit into nanoseconds counts as forever.
    let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isTooLongAfterAll) = whole.addingReportingOverflow(nanoseconds)
    self = isTooLong || isTooLongAfterAll ? .never : .nanoseconds(Int(sum))
  }
}

extension Gate {
  /// A warning about a held thread.
  enum Warning: Equatable {
    case held(Duration)
    case opened(Duration)
  }

  /// Writes to standard error that a thread is still held, or is not held any more.
  static func warn(_ warning: Warning, _ caller: Caller) {
    let sentence =
      switch warning {
      case .held(let time): "The gate has held somebody here for \(time), and is closed."
      case .opened(let limit): "Nobody opened the gate within \(limit); it opens by itself."
      }
    Platform.writeToStandardError("\(caller.file):\(caller.line): \(sentence)")
  }
}

extension Tally {
  /// Waits until `count` arrivals at a gate have been counted by this tally.
  func expectArrivals(_ count: Int, _ limit: TimeLimit, _ caller: Caller) async throws {
    switch await wait(for: count, limit) {
    case .reached: return
    case .canceled: throw CancellationError()
    case .timedOut:
      throw ExpectationFailure(
        .timedOut,
        "Expected \(counted(count, "arrival")) at the gate within \(limit.duration), "
          + "and there were \(value).", caller)
    }
  }
}
