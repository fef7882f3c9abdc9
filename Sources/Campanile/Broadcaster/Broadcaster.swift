/// A source of values that any number of observers can follow.
///
/// Observers hear each value once, in the order they registered:
///
/// ```swift
/// let ticks = Broadcaster<Int>()
/// let token = ticks.observe { print("tick \($0)") }
/// ticks.send(1)  // prints "tick 1"
/// ```
///
/// All methods are safe from any thread and from inside an observer; no lock is held while an
/// observer runs. An observer that registers while a value is being sent hears the next one. The
/// observations end with the broadcaster, as if by ``finish()``.
///
/// Sending to nobody costs two loads; to immediate observers a few nanoseconds each, without locks,
/// allocations or reference counts.
public final class Broadcaster<Value: Sendable>: Followable {
  /// What observers are given.
  public typealias Element = Value
  /// What can be asked of an observation.
  public typealias Options = ObservationOptions

  let registry: ObserverRegistry
  let list: ObserverList

  /// Creates a broadcaster that nobody follows.
  ///
  /// - Parameters:
  ///   - onError: Called with what an observer throws, on the thread where it threw. Without it,
  ///     one line goes to standard error.
  ///   - onEvent: Called with what happens at the source, for measuring; see ``SourceEvent``.
  public convenience init(
    onError: (@Sendable (ObserverFailure) -> Void)? = nil,
    onEvent: (@Sendable (SourceEvent) -> Void)? = nil
  ) {
    self.init(registry: ObserverRegistry(onError: onError, onEvent: onEvent))
  }

  init(registry: ObserverRegistry) {
    self.registry = registry
    list = ObserverList(registry: registry, topic: .init(value: Value.self, subject: nil))
  }

  deinit { finish() }

  /// Sends a value to those who observe now.
  ///
  /// When it returns, the immediate observers have been called, and the others will be. After
  /// ``finish()`` it does nothing.
  public func send(_ value: Value) {
    if registry.isHeard(list) { deliver(value) }
  }

  @inline(never)
  private func deliver(_ value: Value) {
    registry.post(value, Post(), to: list)
  }

  /// Sends a value and waits until every delivery of it has ended.
  ///
  /// A delivery has ended when the observer ran, or was skipped, canceled, dropped for want of
  /// room, or discarded with its target. Inside an asynchronous observer it does not wait for that
  /// observer, nor for one that waits for the call in the same way.
  ///
  /// - Throws: `CancellationError` if the task is canceled before that; the deliveries go on.
  public func sendAndWait(_ value: Value) async throws {
    let tracker = DeliveryTracker()
    registry.post(value, Post(tracker: tracker), to: list)
    tracker.end()
    try await tracker.wait()
  }

  /// Ends every observation of this source that `owner` bounds.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers(ownedBy owner: AnyObject) {
    registry.endAll(ownedBy: owner) { _ in true }
  }

  /// Ends every observation and every sequence; what comes later is refused.
  ///
  /// Deliveries that were queued are not made. A second call does nothing.
  public func finish() {
    registry.finish { [list] }
  }

  /// How many observations have not ended.
  ///
  /// Those of an owner that has died do not count.
  ///
  /// - Complexity: O(*n* log *n*).
  public var observerCount: Int { registrations.count }

  /// The live observations, oldest first, for debugging.
  public var registrations: [RegistrationDescription] { registry.describe { [list] } }

  /// Registers an observer.
  ///
  /// Not for direct use: call `observe`.
  public func _register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Value>,
    _ options: ObservationOptions
  ) -> Registration? {
    request.isOnce = options.contains(.once)
    return request.register(body, with: registry) { _ in .list(list) }
  }

  /// Finds the source later, and does not keep it.
  ///
  /// Not for direct use.
  public var _reference: @Sendable () -> Broadcaster? { { [weak self] in self } }

  /// A registration that has ended.
  ///
  /// Not for direct use.
  public var _ended: Registration { Registration(list: list, id: 0, counters: nil) }
}

extension Broadcaster where Value == Void {
  /// Sends the event to those who observe now; it has no value.
  public func send() { send(()) }
}

extension Broadcaster: CustomStringConvertible {
  /// The live observations, a line each.
  public var description: String {
    registrations.reduce("Broadcaster of \(Value.self)") { $0 + "\n  " + $1.description }
  }
}
