/// A source that has a value at all times, and reports each change of it.
///
/// A ``CurrentValue`` can be set; its ``ReadOnlyState`` can be read and observed. With `.initial`,
/// an observer also receives the current value. With `.distinct`, it skips changes to an equal
/// value.
public protocol StateSource<Value>: ObservationSource where Element == ValueChange<Value> {
  /// The type of the state's value.
  associatedtype Value: Sendable

  /// The read-only view of the state.
  var readOnly: ReadOnlyState<Value> { get }
}

extension StateSource {
  /// The changes of the state, without access to its current value.
  public var signal: Signal<ValueChange<Value>> { readOnly.signal }

  /// The current value.
  public var value: Value { readOnly.value }
}
