/// A change of a state, as one observer sees it.
public struct ValueChange<Value: Sendable>: Sendable {
  /// The value that the observer knew before; `nil` in its first call with `.initial`.
  ///
  /// If the observer missed changes, because it was paused or its buffer was full, this is the value
  /// before all of them.
  public let old: Value?
  /// The value after the change.
  public let new: Value

  /// Creates a change; without an old value, that of the first call.
  public init(old: Value?, new: Value) {
    self.old = old
    self.new = new
  }

  /// Whether this is the first call of an observer with `.initial`.
  public var isInitial: Bool { old == nil }
}

extension ValueChange: Equatable where Value: Equatable {}

extension ValueChange: CustomStringConvertible {
  /// The old and the new value, or the new one alone.
  public var description: String { old.map { "\($0) → \(new)" } ?? "\(new)" }
}
