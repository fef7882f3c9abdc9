public import Campanile

/// Collects what observers are given, with where they ran and in which order.
///
/// A recorder can observe a source itself, or be called in an observer:
///
/// ```swift
/// let ticks = Recorder(observing: clock.ticks, on: .queue(queue))
/// let titles = Recorder<String>()
/// let token = center.observe(TrackChanged.self) { titles.record($0.title) }
/// ```
///
/// A test looks at ``values``, or waits: ``expect(_:within:file:line:)-(Value...,_,_,_)`` takes the
/// next values and throws an ``ExpectationFailure`` if they are not what was expected, or do not
/// come in time. Nothing is polled: the value that comes wakes the test.
///
/// All methods are safe from any thread. Recording takes a lock. A recorder that observes ends
/// its observation when it is released, or by ``stop()``.
public final class Recorder<Value: Sendable>: Sendable {
  /// One value, and what is known of its delivery.
  public struct Entry: Sendable {
    /// What was recorded.
    public let value: Value
    /// Where.
    public let place: RecordedPlace
    /// Its place among all that was recorded in this process, by any recorder: what was recorded
    /// before has a smaller number.
    public let order: UInt64
  }

  let log = RecorderLog<Value>()
  let timeout: Duration
  let clock: any Clock<Duration>
  /// What ends with the recorder; protected by its lock.
  private let ends = Locked<[@Sendable () -> Void]>([])

  /// Creates a recorder that has heard nothing.
  ///
  /// - Parameters:
  ///   - timeout: How long its expectations wait, unless they say otherwise.
  ///   - clock: By which clock.
  public init(
    timeout: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.timeout = timeout
    self.clock = clock
  }

  deinit { stop() }

  // MARK: Recording

  /// Records a value, from where the caller runs.
  public func record(_ value: Value) { log.append(value, actor: nil) }

  /// Records a value from code that is isolated to `actor`, and that this was the place.
  public func record(_ value: Value, on actor: isolated some Actor) {
    log.append(value, actor: actor)
  }

  /// Looks for these deliveries' places when something is recorded from now on.
  ///
  /// What the recorder observes on is recognized anyway. `.immediate` has no place.
  public func recognize(_ deliveries: Delivery...) {
    for delivery in deliveries { log.recognize(delivery) }
  }

  /// Ends what the recorder observes; what is recorded by hand is recorded as before.
  ///
  /// A second call does nothing.
  public func stop() {
    let ends = ends.withLock { ends in
      defer { ends = [] }
      return ends
    }
    for end in ends { end() }
  }

  func atStop(_ end: @escaping @Sendable () -> Void) { ends.withLock { $0.append(end) } }

  // MARK: Looking

  /// What was recorded, oldest first.
  public var values: [Value] { log.entries.map(\.value) }

  /// What was recorded, with where and when, oldest first.
  public var entries: [Entry] { log.entries }

  /// How many values were recorded.
  public var count: Int { log.count }

  /// Waits until there are `count` values, whatever expectations have taken.
  ///
  /// - Returns: Whether there are, within `limit`.
  package func waits(for count: Int, within limit: Duration) async -> Bool {
    await log.recorded.wait(for: count, TimeLimit(limit, by: ContinuousClock())) != .timedOut
  }
}
