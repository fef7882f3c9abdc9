/// A state that can be read and observed, but not set.
///
/// ```swift
/// final class Player {
///   private let state = CurrentValue(false)
///   var isPlaying: ReadOnlyState<Bool> { state.readOnly }
/// }
///
/// player.isPlaying.map { !$0 }.observe(owner: button, on: .main, options: [.initial, .distinct]) {
///   button, change in button.isEnabled = change.new
/// }
/// ```
///
/// It is a value, which you can store in a property or an array, or send to another thread. It
/// keeps its ``CurrentValue`` alive. The promises of a current value also hold for states that are
/// derived from it: notifications are serialized, no change is left out or delivered twice, and the
/// last change that an observer receives carries the newest value.
public struct ReadOnlyState<Value: Sendable>: StateSource {
  /// The values that observers receive.
  public typealias Element = ValueChange<Value>

  package let base: any StateBase<Value>

  package init(base: any StateBase<Value>) { self.base = base }

  /// This state.
  public var readOnly: ReadOnlyState<Value> { self }
  /// The current value.
  public var value: Value { base.value }
  /// The changes of the state, without access to its current value.
  public var signal: Signal<ValueChange<Value>> { Signal(base: base.changes) }
}

/// The base of a state: it registers observers, and has the current value.
package protocol StateBase<Value>: SignalBase where Element == ValueChange<Value> {
  associatedtype Value: Sendable

  var value: Value { get }
  /// Where the failures of what is derived from this are reported.
  var reporters: Reporters { get }
  /// The state itself, as a base of signals of its changes.
  var changes: any SignalBase<ValueChange<Value>> { get }
}

/// The sources that report the failures of what is derived from them.
package struct Reporters: Sendable {
  let registries: [ObserverRegistry]
}

extension StateBase {
  package var changes: any SignalBase<ValueChange<Value>> { self }
}

extension StateSource {
  /// A state whose value is this state's value, transformed by `transform`.
  ///
  /// Every change of this state is a change of the derived state, even if its old and new values
  /// are equal. Observe with `.distinct` to leave such changes out.
  ///
  /// - Parameter transform: Called once for each read of the value, and twice for each observer and
  ///   change, with the old and the new value, where the observer runs. For an observer with a
  ///   bounded buffer and `.distinct` it is also called twice on the thread that sets the value.
  /// - Returns: A state that keeps only this state alive.
  public func map<Result: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Result
  ) -> ReadOnlyState<Result> {
    ReadOnlyState(base: MappedState(readOnly.base, transform))
  }
}

/// A state whose values a closure derives from those of another state.
private final class MappedState<Upstream: Sendable, Value: Sendable>: StateBase {
  private let upstream: any StateBase<Upstream>
  private let mapped: TransformedSignal<ValueChange<Upstream>, ValueChange<Value>>
  private let transform: @Sendable (Upstream) -> Value

  init(
    _ upstream: any StateBase<Upstream>, _ transform: @escaping @Sendable (Upstream) -> Value
  ) {
    self.upstream = upstream
    self.transform = transform
    mapped = TransformedSignal(Signal(base: upstream.changes), isSelective: false) { change, pass in
      try pass(change.map(transform))
    }
  }

  var value: Value { transform(upstream.value) }
  var reporters: Reporters { upstream.reporters }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<ValueChange<Value>>,
    _ options: SourceOptions<ValueChange<Value>>
  ) -> Registration {
    mapped.register(request, body, options)
  }

  var reference: @Sendable () -> (any SignalBase<ValueChange<Value>>)? { mapped.reference }
}
