/// A change of a state.
public struct ValueChange<Value: Sendable>: Sendable {
  /// The value before, or `nil` in the first call of a follower that asked for `.initial`, and
  /// where the change was made when nobody followed.
  public let old: Value?
  /// The value after.
  public let new: Value
  /// Which of the sets it was; 0 asks a follower for its initial call, and
  /// the greatest number for what it missed.
  let revision: UInt64

  @inline(__always)
  init(old: Value?, new: Value, revision: UInt64) {
    self.old = old
    self.new = new
    self.revision = revision
  }

  /// Whether this is the first call of a follower that asked for `.initial`.
  public var isInitial: Bool { revision == 0 }

  /// Asks a follower that was paused to be told what it missed.
  static func resumption(_ value: Value) -> Self { Self(old: nil, new: value, revision: .max) }

  var isResumption: Bool { revision == .max }
  /// Whether it asks a follower to be called, and is no change itself.
  var isRequest: Bool { isInitial || isResumption }

  /// The same change of what `transform` makes of the values.
  func map<Result>(_ transform: (Value) -> Result) -> ValueChange<Result> {
    ValueChange<Result>(old: old.map(transform), new: transform(new), revision: revision)
  }

  static func initialRequest(_ value: Value) -> Self { Self(old: nil, new: value, revision: 0) }
}

extension ValueChange: Equatable where Value: Equatable {
  /// Whether two changes lead from equal values to equal values.
  public static func == (one: Self, other: Self) -> Bool {
    one.old == other.old && one.new == other.new
  }
}
