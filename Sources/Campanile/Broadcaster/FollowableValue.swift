/// A state that others can read and follow and not set: the read-only face of a ``CurrentValue``.
public protocol FollowableValue<Value>: ObservationSource
where Element == ValueChange<Value>, Options == FollowingOptions<Value> {
  /// The type of the state.
  associatedtype Value: Sendable

  /// The value now.
  var value: Value { get }
}
