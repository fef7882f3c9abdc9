extension KVOChange {
  /// Options of an observation of a key path: what to report in addition to the new values.
  ///
  /// ```swift
  /// kvo.observe(player, \.title, options: [.initial, .old]) { screen, player, change in … }
  /// ```
  public struct Options: ExpressibleByArrayLiteral, CustomStringConvertible {
    var names: ObserverWishes = []
    /// Compares the boxes of two values, if changes to equal values are left out.
    var areEqual: ((AnyObject, AnyObject) -> Bool)?

    /// Calls the observer first with the value at registration, before any change.
    public static var initial: Self { Self(.initial) }

    /// Also calls the observer before each change, with the phase ``KVOChange/Phase/prior``.
    ///
    /// A change inside the prior call is part of the change that it announces.
    public static var prior: Self { Self(.prior) }

    /// Also reports the value before the change, which is the one that was reported before.
    ///
    /// It is kept until the next change, so a collection that is changed in place is copied.
    public static var old: Self { Self(.old) }

    /// Ends the observation with its first call.
    public static var once: Self { Self(.once) }

    fileprivate init(_ names: ObserverWishes, _ areEqual: ((AnyObject, AnyObject) -> Bool)? = nil) {
      self.names = names
      self.areEqual = areEqual
    }

    /// Creates an empty set of options.
    public init() {}

    /// Creates a combination of options.
    public init(arrayLiteral options: Self...) { self.init(options) }

    fileprivate init(_ options: [Self]) {
      for option in options {
        names.formUnion(option.names)
        areEqual = areEqual ?? option.areEqual
      }
    }

    /// The names of the options.
    public var description: String { names.description }
  }
}

extension KVOChange.Options where Value: Equatable {
  /// Leaves out changes whose old and new value are equal.
  ///
  /// `==` runs where the change is reported, while no lock is held. A prior call is made before the
  /// new value is known, so it is made for equal values too.
  public static var distinct: Self {
    Self(.distinct) { one, other in
      // `areEqual` is called with such boxes only.
      guard let one = one as? OldValue<Value>, let other = other as? OldValue<Value> else {
        return false
      }
      return one.value == other.value
    }
  }
}

extension KVOChange.Options {
  /// Unavailable for values that cannot be compared.
  @available(*, unavailable, message: "Values can be compared only if their type is Equatable")
  @_disfavoredOverload
  public static var distinct: Self { Self() }
}

extension KVOChange {
  /// Options for an object that any thread may change: those of ``Options`` without `.prior`,
  /// because another thread may make a change between the prior call and its change.
  public struct SharedOptions: ExpressibleByArrayLiteral, CustomStringConvertible {
    let options: Options

    /// See ``Options/initial``.
    public static var initial: Self { Self(.initial) }
    /// See ``Options/old``.
    public static var old: Self { Self(.old) }
    /// See ``Options/once``.
    public static var once: Self { Self(.once) }

    fileprivate init(_ options: Options) { self.options = options }

    /// Creates an empty set of options.
    public init() { options = Options() }

    /// Creates a combination of options.
    public init(arrayLiteral options: Self...) {
      self.options = Options(options.map(\.options))
    }

    /// The names of the options.
    public var description: String { options.description }
  }
}

extension KVOChange.SharedOptions where Value: Equatable {
  /// Leaves out changes whose old and new value are equal; `==` runs where the change is reported,
  /// while no lock is held.
  public static var distinct: Self { Self(.distinct) }
}

extension KVOChange.SharedOptions {
  /// Unavailable for values that cannot be compared.
  @available(*, unavailable, message: "Values can be compared only if their type is Equatable")
  @_disfavoredOverload
  public static var distinct: Self { Self() }

  /// Unavailable for objects that any thread may change.
  @available(*, unavailable, message: "Prior calls exist for objects that stay in one isolation")
  public static var prior: Self { Self() }
}

/// Which options an observer asks for, independent of the type of the value.
struct ObserverWishes: OptionSet, Sendable, CustomStringConvertible {
  let rawValue: UInt8

  static let initial = Self(rawValue: 1)
  static let prior = Self(rawValue: 2)
  static let old = Self(rawValue: 4)
  static let distinct = Self(rawValue: 8)
  static let once = Self(rawValue: 16)

  var description: String {
    let all = [
      (Self.initial, "initial"), (.prior, "prior"), (.old, "old"), (.distinct, "distinct"),
      (.once, "once"),
    ]
    return "[" + all.filter { contains($0.0) }.map(\.1).joined(separator: ", ") + "]"
  }
}
