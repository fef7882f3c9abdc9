/// A change of a state.
public struct ValueChange<Value: Sendable>: Sendable {
  /// The value before the change.
  ///
  /// It is `nil` in the first call of a follower that asked for `.initial`, and in a change by
  /// `update(_:)` if no follower used old values when the update began, because there was none or
  /// all of them were registered with `.withoutOld`.
  public let old: Value?
  /// The value after the change.
  public let new: Value
  /// The number of the set.
  ///
  /// 0 requests the initial call of a follower, and the greatest number requests the changes that
  /// it missed.
  let revision: UInt64

  @inline(__always)
  init(old: Value?, new: Value, revision: UInt64) {
    self.old = old
    self.new = new
    self.revision = revision
  }

  /// Creates a change, for the test of an observer.
  ///
  /// - Parameters:
  ///   - old: The value before the change.
  ///   - new: The value after the change.
  ///   - isInitial: Whether it is the first call of a follower that asked for `.initial`.
  public init(old: Value?, new: Value, isInitial: Bool = false) {
    self.init(old: old, new: new, revision: isInitial ? 0 : 1)
  }

  /// Whether this is the first call of a follower that asked for `.initial`.
  public var isInitial: Bool { revision == 0 }

  /// A request to deliver the missed changes to a resumed follower.
  static func resumption(_ value: Value) -> Self { Self(old: nil, new: value, revision: .max) }

  var isResumption: Bool { revision == .max }
  /// Whether it only requests a call of a follower, and isn't itself a change.
  var isRequest: Bool { isInitial || isResumption }

  /// Returns a change with both values transformed.
  func map<Result>(_ transform: (Value) -> Result) -> ValueChange<Result> {
    ValueChange<Result>(old: old.map(transform), new: transform(new), revision: revision)
  }

  static func initialRequest(_ value: Value) -> Self { Self(old: nil, new: value, revision: 0) }
}

extension ValueChange: Equatable where Value: Equatable {
  /// Whether two changes have equal old values and equal new values.
  @_optimize(size)
  public static func == (one: Self, other: Self) -> Bool {
    one.old == other.old && one.new == other.new
  }
}
