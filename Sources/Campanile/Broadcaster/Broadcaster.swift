/// A source of values that any number of observers can follow.
///
/// Observers receive each value once:
///
/// ```swift
/// let ticks = Broadcaster<Int>()
/// let token = ticks.observe { print("tick \($0)") }
/// ticks.send(1)  // prints "tick 1"
/// ```
///
/// All methods are safe from any thread and from inside an observer; no lock is held while an
/// observer runs. An observer that registers while a value is being sent receives the next one. The
/// observations end with the broadcaster, as if by ``finish()``.
///
/// Sending without observers costs two loads. Each observer costs as much as at a ``MessageCenter``.
public final class Broadcaster<Element: Sendable>: ObservationSource {
  let registry: ObserverRegistry
  let list: ObserverList

  /// Creates a broadcaster without observers.
  public convenience init() { self.init(registry: ObserverRegistry()) }

  init(registry: ObserverRegistry, list: ObserverList? = nil) {
    self.registry = registry
    self.list = list ?? ObserverList(registry: registry, valueType: Element.self)
  }

  deinit {
    finish()
    registry.finishReports()
  }

  /// Sends a value to the current observers.
  ///
  /// When it returns, the immediate observers have been called; the others may be called later.
  /// After ``finish()`` no observer is left to call.
  public func send(_ element: Element) {
    if registry.isHeard(list) { deliver(element, Post()) }
  }

  /// Sends a value for whose deliveries a tracker waits, if there is one.
  package func send(_ element: Element, trackedBy tracker: DeliveryTracker?) {
    guard let tracker else { return send(element) }
    if registry.isHeard(list) { deliver(element, Post().tracked(by: tracker)) }
  }

  // Not specialized: the engine would be compiled once more for events, and again for failures.
  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  private func deliver(_ element: Element, _ post: borrowing Post) {
    registry.post(element, post, to: list)
  }

  /// Sends a value and waits until every delivery of it has ended.
  ///
  /// ``MessageCenter/postAndWait(_:)`` says when a delivery ends, and for what it does not wait.
  ///
  /// - Throws: `CancellationError` if the task is canceled first. The deliveries are still made.
  public func sendAndWait(_ element: Element) async throws {
    try await DeliveryTracker.wait { send(element, trackedBy: $0) }
  }

  /// Ends every observation of this source that `owner` owns.
  ///
  /// - Complexity: O(*n*) in the observations of that owner.
  public func removeObservers(ownedBy owner: AnyObject) {
    registry.endAll(ownedBy: owner)
  }

  /// Ends every observation and every sequence, and refuses later ones.
  ///
  /// ``MessageCenter/finish()`` says what that means for deliveries, for sequences, and for the
  /// observers of ``Traceable/events`` and ``failures``.
  public func finish() {
    registry.finish([list])
  }

  /// The read-only view of the broadcaster: it can be observed, and cannot send.
  public var signal: Signal<Element> { Signal(base: self) }
}

extension Broadcaster: SignalBase {
  package func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Element>
  ) -> Registration {
    list.register(request, body)
  }
}

extension Broadcaster where Element == Void {
  /// Sends an event without a value to the current observers.
  public func send() { send(()) }
}

extension Broadcaster: Traceable, CustomStringConvertible, CustomReflectable {
  /// A view of the events and the observers of the broadcaster.
  public var inspection: SourceInspection {
    SourceInspection(list, named: "Broadcaster of \(Element.self)")
  }

  /// Reports the errors that observers of this broadcaster throw; see ``MessageCenter/failures``.
  public var failures: Signal<ObserverFailure> { registry.failures }
}
