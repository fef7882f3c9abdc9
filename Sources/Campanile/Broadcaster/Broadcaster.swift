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
public final class Broadcaster<Element: Sendable>: ObservationSource {
  let registry: ObserverRegistry
  let list: ObserverList

  /// Creates a broadcaster that nobody follows.
  public convenience init() { self.init(registry: ObserverRegistry()) }

  init(registry: ObserverRegistry, home: ObserverList.Home = .source) {
    self.registry = registry
    list = ObserverList(
      registry: registry, topic: .init(value: Element.self, subject: nil), home: home)
  }

  deinit {
    finish()
    registry.finishReports()
  }

  /// Sends a value to those who observe now.
  ///
  /// When it returns, the immediate observers have been called, and the others will be. After
  /// ``finish()`` it does nothing.
  public func send(_ element: Element) {
    if registry.isHeard(list) { deliver(element) }
  }

  @inline(never)
  private func deliver(_ element: Element) {
    registry.post(element, Post(), to: list)
  }

  /// Sends a value that one registration does not hear.
  ///
  /// What observers of it send is heard by everybody. A registration of another source, or one that
  /// has ended, makes no difference.
  public func send(_ element: Element, skipping registration: Registration) {
    let post = Post().skipping(registry.ownID(of: registration))
    if registry.isHeard(list) { registry.postChecked(element, post, to: list) }
  }

  /// Sends each element of a sequence, one after the other, as ``send(_:)`` does.
  public func send(contentsOf elements: some Sequence<Element>) {
    for element in elements { send(element) }
  }

  /// Sends a value and waits until every delivery of it has ended.
  ///
  /// A delivery has ended when the observer ran, or was skipped, canceled, dropped for want of
  /// room, or discarded with its target. Inside an asynchronous observer it does not wait for that
  /// observer, nor for one that waits for the call in the same way.
  ///
  /// - Throws: `CancellationError` if the task is canceled before that; the deliveries go on.
  public func sendAndWait(_ element: Element) async throws {
    let tracker = DeliveryTracker()
    registry.post(element, Post().tracked(by: tracker), to: list)
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
    registry.finish { _ in [list] }
  }

  /// How many observations have not ended.
  ///
  /// Those of an owner that has died do not count.
  ///
  /// - Complexity: O(*n* log *n*).
  public var observerCount: Int { registrations.count }

  /// The live observations, oldest first, for debugging.
  public var registrations: [RegistrationDescription] { registry.describe { _ in [list] } }

  /// What can be observed of the broadcaster: its read-only face.
  public var signal: Signal<Element> { Signal(base: self) }
}

extension Broadcaster: SignalBase {
  package func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>,
    _ options: SourceOptions<Element>
  ) -> Registration {
    request.isOnce = options.isOnce
    return request.register(body, with: registry) { _, _ in .list(list) }
      ?? Registration(list: list, id: 0, counters: nil)
  }

  package var reference: @Sendable () -> (any SignalBase<Element>)? { { [weak self] in self } }
}

extension Broadcaster where Element == Void {
  /// Sends the event to those who observe now; it has no value.
  public func send() { send(()) }
}

extension Broadcaster: CustomStringConvertible {
  /// The live observations, a line each.
  public var description: String {
    registrations.reduce("Broadcaster of \(Element.self)") { $0 + "\n  " + $1.description }
  }
}
