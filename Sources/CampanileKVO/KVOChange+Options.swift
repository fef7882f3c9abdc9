extension KVOChange {
  /// What an observation of a key path asks for besides the new values.
  ///
  /// ```swift
  /// kvo.observe(player, \.title, [.initial, .old]) { screen, player, change in … }
  /// ```
  public struct Options: ExpressibleByArrayLiteral {
    var isInitial = false
    var isPrior = false
    var wantsOld = false
    var isOnce = false
    var areEqual: ((Value, Value) -> Bool)?

    /// Calls the observer first with the value at the registration.
    ///
    /// Where the observer runs at the change, `observe` makes that call before it returns, and changes
    /// wait until then.
    public static var initial: Self { Self { $0.isInitial = true } }

    /// Calls the observer before each change too, with the phase ``KVOChange/Phase/prior``.
    ///
    /// A transaction makes one prior call, before its first change. A change that an observer makes in
    /// its prior call has a prior call too: such an observer must know when to stop.
    ///
    /// The thread that is about to make the change makes the call at once. An observer of an object that
    /// several threads change may be in another call on another thread.
    public static var prior: Self { Self { $0.isPrior = true } }

    /// Tells the value before the change too.
    ///
    /// The value is read before each change, once for all observers of the key path. It is kept until they
    /// have been called, so a collection that is changed in place is copied. If an observer sets the property in its
    /// prior call, the old value of the outer change is still the one before that call. (It is the one
    /// that the observer has set in a class that hands its values over: see
    /// ``KVORegistrar/set(_:_:in:to:)``.)
    ///
    /// There is no old value where it cannot be read. That is before a change that another thread makes on a
    /// main-actor key path. It is also before a change that had begun when the observation began, or when
    /// it came to follow the property.
    public static var old: Self { Self { $0.wantsOld = true } }

    /// Ends the observation with its first call.
    public static var once: Self { Self { $0.isOnce = true } }

    private init(_ ask: (inout Self) -> Void) {
      self.init()
      ask(&self)
    }

    /// No option.
    public init() {}

    /// Combines options.
    public init(arrayLiteral options: Self...) {
      for option in options {
        isInitial = isInitial || option.isInitial
        isPrior = isPrior || option.isPrior
        wantsOld = wantsOld || option.wantsOld
        isOnce = isOnce || option.isOnce
        areEqual = areEqual ?? option.areEqual
      }
    }

    /// Whether the value is to be read before a change.
    var needsOld: Bool { wantsOld || isPrior || areEqual != nil }
  }
}

extension KVOChange.Options where Value: Equatable {
  /// Leaves out changes from a value to an equal one.
  ///
  /// It compares the values before and after the change, also after a pause. `==` runs where the
  /// change is made, and under no lock. A prior call is made before it is known whether the value will
  /// be another one. A change without an old value (see ``old``) is reported.
  public static var distinct: Self {
    Self { $0.areEqual = { $0 == $1 } }
  }
}

extension KVOChange.Options {
  /// Not for values that cannot be compared.
  @available(*, unavailable, message: "Values can be compared only if their type is Equatable")
  @_disfavoredOverload
  public static var distinct: Self { Self() }
}

extension KVOChange.Options: CustomStringConvertible {
  /// The names of the options.
  public var description: String { names.description }

  /// Which options there are, without what they do.
  var names: KVOOptionNames {
    KVOOptionNames(
      isInitial: isInitial, isPrior: isPrior, wantsOld: wantsOld, isDistinct: areEqual != nil,
      isOnce: isOnce)
  }
}

/// Which options an observation has, for descriptions.
struct KVOOptionNames: Sendable, CustomStringConvertible {
  let isInitial, isPrior, wantsOld, isDistinct, isOnce: Bool

  var description: String {
    var names: [String] = []
    if isInitial { names.append("initial") }
    if isPrior { names.append("prior") }
    if wantsOld { names.append("old") }
    if isDistinct { names.append("distinct") }
    if isOnce { names.append("once") }
    return "[" + names.joined(separator: ", ") + "]"
  }
}
