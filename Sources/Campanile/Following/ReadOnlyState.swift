/// A state that can be read and observed, but not set.
///
/// ```swift
/// final class Player {
///   private let state = CurrentValue(false)
///   var isPlaying: ReadOnlyState<Bool> { state.readOnly }
/// }
///
/// player.isPlaying.map { !$0 }.observe(owner: button, on: .main, options: [.initial, .distinct]) {
///   button, isEnabled in button.isEnabled = isEnabled
/// }
/// ```
///
/// It is a value, which you can store in a property or an array, or send to another thread. It
/// keeps its ``CurrentValue`` alive, or those that it is derived from. A derived state keeps the
/// promises of a current value.
public struct ReadOnlyState<Value: Sendable>: StateSource {
  let base: any StateBase<Value>

  init(base: any StateBase<Value>) { self.base = base }

  /// This state.
  public var readOnly: ReadOnlyState<Value> { self }
  /// The current value.
  public var value: Value { base.value }
  /// The values of the state, without access to its current value.
  public var signal: Signal<Value> { Signal(base: base.signalBase) }
}

/// The base of a state: it registers observers, and has the current value.
protocol StateBase<Value>: StateReading where Element == Value {
  associatedtype Value: Sendable

  var value: Value { get }

  /// Where an observer is registered, and what it keeps meanwhile.
  ///
  /// - Parameter location: The place in the program of the first observer.
  func home(
    _ location: CallSite
  ) -> (storage: StateStorage<Value, StateUpdate<Value>>, kept: (any AnyObject & Sendable)?)

  /// Reads the states that this one is derived from.
  ///
  /// - Returns: A closure that computes the value from the newest values that the taps have received.
  func tap(_ taps: Taps) -> @Sendable () -> Value
}

extension StateBase {
  /// The state as the base of a signal of its values.
  var signalBase: any SignalBase<Value> { self }

  /// Registers an observer that `following` has wrapped.
  func follow(
    _ request: consuming ObservationRequest, _ following: Following<Value>,
    _ body: consuming ObserverBody<StateUpdate<Value>>
  ) -> Registration {
    let (storage, kept) = home(request.location)
    if let kept { body = body.keeping(kept) }
    return storage.register(request, following, body)
  }

  package func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<Value>
  ) -> Registration {
    let following = Following<Value>(request.takeOptions())
    return follow(request, following, following.wrap(body))
  }
}
