/// A source that has a value at all times, and reports each change of it.
///
/// ``CurrentValue`` is one that can be set; ``ReadOnlyState`` is the face for everybody else. An
/// observer can ask for the value that is there already, with `.initial`, and for changes to another
/// value alone, with `.distinct`.
public protocol StateSource<Value>: ObservationSource where Element == ValueChange<Value> {
  /// The type of the state.
  associatedtype Value: Sendable

  /// The state without the power to set it.
  var readOnly: ReadOnlyState<Value> { get }
}

extension StateSource {
  /// The changes, without the value at other times.
  public var signal: Signal<ValueChange<Value>> { readOnly.signal }

  /// The value now.
  public var value: Value { readOnly.value }
}
