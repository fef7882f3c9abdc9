extension KVOChange {
  /// What an observation of a key path asks for besides the new values.
  ///
  /// ```swift
  /// kvo.observe(player, \.title, [.initial, .old]) { screen, player, change in … }
  /// ```
  public struct Options: ExpressibleByArrayLiteral {
    /// Which options there are.
    var names: ObserverWishes = []
    /// Compares the boxes of two values, if changes to equal ones are left out.
    var areEqual: ((AnyObject, AnyObject) -> Bool)?

    /// Calls the observer first with the value at the registration.
    ///
    /// Where the observer runs at the change, `observe` makes that call before it returns, and changes
    /// wait until then.
    public static var initial: Self { Self(.initial) }

    /// Calls the observer before each change too, with the phase ``KVOChange/Phase/prior``.
    ///
    /// A transaction makes one prior call, before its first change. A change that an observer makes in
    /// its prior call has a prior call too: such an observer must know when to stop.
    ///
    /// The thread that is about to make the change makes the call at once. An observer of an object that
    /// several threads change may be in another call on another thread.
    public static var prior: Self { Self(.prior) }

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
    public static var old: Self { Self(.old) }

    /// Ends the observation with its first call.
    public static var once: Self { Self(.once) }

    fileprivate init(_ names: ObserverWishes, _ areEqual: ((AnyObject, AnyObject) -> Bool)? = nil) {
      self.names = names
      self.areEqual = areEqual
    }

    /// No option.
    public init() {}

    /// Combines options.
    public init(arrayLiteral options: Self...) {
      for option in options {
        names.formUnion(option.names)
        areEqual = areEqual ?? option.areEqual
      }
    }
  }
}

extension KVOChange.Options where Value: Equatable {
  /// Leaves out changes from a value to an equal one.
  ///
  /// It compares the values before and after the change, also after a pause. `==` runs where the
  /// change is made, and under no lock. A prior call is made before it is known whether the value will
  /// be another one. A change without an old value (see ``old``) is reported.
  public static var distinct: Self {
    Self(.distinct) { one, other in
      // What it is given are such boxes.
      guard let one = one as? OldValue<Value>, let other = other as? OldValue<Value> else {
        return false
      }
      return one.value == other.value
    }
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
}

/// Which options an observer asks for, whatever the type of the value.
struct ObserverWishes: OptionSet, Sendable, CustomStringConvertible {
  let rawValue: UInt8

  static let initial = Self(rawValue: 1)
  static let prior = Self(rawValue: 2)
  static let old = Self(rawValue: 4)
  static let distinct = Self(rawValue: 8)
  static let once = Self(rawValue: 16)

  /// Whether the observer is simply called, perhaps with the old value.
  var isPlain: Bool { isSubset(of: .old) }

  var description: String {
    let all = [
      (Self.initial, "initial"), (.prior, "prior"), (.old, "old"), (.distinct, "distinct"),
      (.once, "once"),
    ]
    return "[" + all.filter { contains($0.0) }.map(\.1).joined(separator: ", ") + "]"
  }
}
