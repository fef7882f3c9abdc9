public import Campanile

/// Collects the values that observers receive, with their place and order.
///
/// A recorder can observe a source, or be called in an observer:
///
/// ```swift
/// let ticks = Recorder(observing: clock.ticks, on: .queue(queue))
/// let titles = Recorder<String>()
/// let token = center.observe(TrackChanged.self) { titles.record($0.title) }
/// ```
///
/// A test reads ``values``, or waits: ``expect(_:within:file:line:)-(Value...,_,_,_)`` takes the
/// next values. Nothing is polled: a value wakes the test when it is recorded.
///
/// ## Behavior
///
/// Each expectation takes the values that it checks, so that the next one checks the values that
/// follow. If the values are different or do not arrive in time, the expectation throws an
/// ``ExpectationFailure`` with the place of its call, and the values that it took stay taken. If
/// the task is canceled during the wait, it throws `CancellationError`. Expectations of one
/// recorder are for one task at a time.
///
/// All methods are safe to call from any thread. Recording takes a lock. A recorder that observes
/// ends its observation when it is released, or by ``stop()``.
public final class Recorder<Value: Sendable>: Sendable {
  /// One value, with its place and order.
  public struct Entry: Sendable {
    /// The recorded value.
    public let value: Value
    /// Where it was recorded.
    public let place: RecordedPlace
    /// Its number among the entries of all recorders of this process.
    ///
    /// Earlier entries have smaller numbers.
    public let order: UInt64
  }

  let log = RecorderLog<Value>()
  let timeout: Duration
  let clock: any Clock<Duration>
  /// Closures to call when the recorder stops.
  ///
  /// Protected by its lock.
  private let ends = Locked<[@Sendable () -> Void]>([])

  /// Creates a recorder without values.
  ///
  /// - Parameters:
  ///   - timeout: How long its expectations wait by default.
  ///   - clock: The clock that measures the timeouts. With a ``VirtualClock``, an expectation times
  ///     out only if another task advances the clock.
  public init(
    timeout: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.timeout = timeout
    self.clock = clock
  }

  deinit { stop() }

  // MARK: Recording

  /// Records a value, with the place of the calling code.
  public func record(_ value: Value) { log.append(value) }

  /// Records a value from code that is isolated to `actor`, with the actor as its place.
  public func record(_ value: Value, on actor: isolated some Actor) {
    log.append(value, actor: actor)
  }

  /// Recognizes the places of these deliveries from now on.
  ///
  /// The delivery that the recorder observes on is always recognized. `.immediate` has no place.
  public func recognize(_ deliveries: Delivery...) {
    for delivery in deliveries { log.recognize(delivery) }
  }

  /// Ends the observation of the recorder.
  ///
  /// Calls of `record` are still recorded. A second call does nothing.
  public func stop() {
    let ends = ends.withLock { ends in
      defer { ends = [] }
      return ends
    }
    for end in ends { end() }
  }

  func atStop(_ end: @escaping @Sendable () -> Void) { ends.withLock { $0.append(end) } }

  // MARK: Inspecting

  /// The recorded values, oldest first.
  public var values: [Value] { log.entries.map(\.value) }

  /// The recorded values with their places and numbers, oldest first.
  public var entries: [Entry] { log.entries }

  /// The number of recorded values.
  public var count: Int { log.count }

  /// Waits until `count` values have been recorded, whether or not expectations have taken them.
  ///
  /// - Returns: Whether that happened within `limit`.
  package func waits(for count: Int, within limit: Duration) async -> Bool {
    await log.recorded.wait(for: count, TimeLimit(limit, by: ContinuousClock())) != .timedOut
  }
}
