import Campanile
import Dispatch

/// Holds a thread until a test lets it go on: an observer in the middle of its call, say.
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
/// The held side calls ``pass(within:file:line:)``, which blocks its thread: hold observers on threads and queues of
/// their own with it, and asynchronous ones with an ``AsyncGate``. An opened gate lets everybody
/// through. All methods are safe from any thread.
public final class Gate: Sendable {
  private let arrivals = DispatchSemaphore(value: 0)
  private let opened = DispatchSemaphore(value: 0)
  private let arrived = Tally()

  /// Creates a closed gate.
  public init() {}

  /// How often somebody has come to the gate.
  public var arrivalCount: Int { arrived.value }

  /// How long a gate holds somebody before it says so.
  static let patience = Duration.seconds(10)

  /// Says that the thread is here, and blocks it until the gate is open.
  ///
  /// If the gate is not open after ten seconds, a line with the place of the call goes to standard
  /// error. After `limit` the gate opens by itself, and another line says so: a test that forgot to
  /// open it ends.
  ///
  /// - Parameters:
  ///   - limit: How long the thread is held at most, by the system's clock.
  ///   - file: The caller's file, for those lines.
  ///   - line: The caller's line.
  public func pass(
    within limit: Duration = .seconds(600), file: StaticString = #fileID, line: UInt = #line
  ) {
    pass(warningAfter: Self.patience, within: limit) { Self.warn($0, Caller(file, line)) }
  }

  func pass(warningAfter patience: Duration, within limit: Duration, _ warn: (Warning) -> Void) {
    arrived.add()
    arrivals.signal()
    // Whoever has passed lets the next one pass.
    defer { opened.signal() }
    let start = DispatchTime.now()
    if opened.wait(timeout: start + .init(min(patience, limit))) == .success { return }
    if patience < limit {
      warn(.held(patience))
      if opened.wait(timeout: start + .init(limit)) == .success { return }
    }
    warn(.opened(limit))
  }

  /// Blocks the calling thread until a thread has come to the gate.
  ///
  /// Each call waits for another arrival. In asynchronous code use
  /// ``reached(by:within:clock:file:line:)``.
  ///
  /// - Parameters:
  ///   - limit: How long it may take, by the system's clock.
  ///   - file: The caller's file, for the failure.
  ///   - line: The caller's line.
  /// - Throws: An ``ExpectationFailure`` if nobody came in time.
  public func waitUntilReached(
    within limit: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line
  ) throws {
    if arrivals.wait(timeout: .now() + .init(limit)) == .success { return }
    throw ExpectationFailure(
      .timedOut,
      "Expected another arrival at the gate within \(limit), after \(arrivalCount) in all.",
      Caller(file, line))
  }

  /// Waits until threads have come to the gate.
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
  public func open() { opened.signal() }
}

extension DispatchTimeInterval {
  fileprivate init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    let nanoseconds = attoseconds / 1_000_000_000
    // What is too long for a number of nanoseconds is forever, for a test.
    let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    self = isTooLong ? .never : .nanoseconds(Int(whole &+ nanoseconds))
  }
}

extension Gate {
  /// What is said of somebody whom a gate holds.
  enum Warning: Equatable {
    case held(Duration)
    case opened(Duration)
  }

  /// Says on standard error that somebody still waits, or does not wait any more.
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
  /// Waits until `count` have come to a gate, which counts them by this.
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
