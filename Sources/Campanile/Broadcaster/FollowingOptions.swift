/// What can be asked of an observation of a state.
///
/// ```swift
/// state.observe(owner: self, on: .main, [.initial, .distinct]) { screen, change in … }
/// ```
public struct FollowingOptions<Value: Sendable>: Sendable, ExpressibleByArrayLiteral {
  var isInitial = false
  var isOnce = false
  var areEqual: (@Sendable (Value, Value) -> Bool)?

  /// Begins with a call that carries the value of that moment; changes wait until it has returned.
  ///
  /// The call is made where the observer is delivered. For immediate delivery, and where the caller
  /// is on the target already and nothing waits there, that is before `observe` returns.
  public static var initial: Self { Self(isInitial: true, isOnce: false) }

  /// Ends the observation with its first call, when that has returned.
  public static var once: Self { Self(isInitial: false, isOnce: true) }

  private init(isInitial: Bool, isOnce: Bool) {
    self.isInitial = isInitial
    self.isOnce = isOnce
  }

  /// Combines options.
  public init(arrayLiteral options: Self...) {
    isInitial = options.contains(where: \.isInitial)
    isOnce = options.contains(where: \.isOnce)
    areEqual = options.lazy.compactMap(\.areEqual).first
  }

  /// Whether a follower needs no more than the changes themselves.
  var isPlain: Bool { !isInitial && !isOnce && areEqual == nil }
}

extension FollowingOptions where Value: Equatable {
  /// Leaves out changes to an equal value.
  ///
  /// `==` runs where the observer is delivered, and under no lock.
  public static var distinct: Self {
    var options = Self(isInitial: false, isOnce: false)
    options.areEqual = { $0 == $1 }
    return options
  }
}
