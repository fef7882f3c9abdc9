extension KVOChange {
  /// Options of an observation of a key path: what to report in addition to the new values.
  ///
  /// ```swift
  /// kvo.observe(player, \.title, [.initial, .old]) { screen, player, change in … }
  /// ```
  public struct Options: ExpressibleByArrayLiteral {
    /// The requested options.
    var names: ObserverWishes = []
    /// Compares the boxes of two values, if changes to equal values are left out.
    var areEqual: ((AnyObject, AnyObject) -> Bool)?

    /// Calls the observer first with the value at registration.
    ///
    /// If the observer runs where the change is made, `observe` makes that call before it returns.
    /// Changes wait until that call has returned. Then `observe` makes their calls too, and those
    /// for changes that other threads make meanwhile. It returns when no change waits.
    public static var initial: Self { Self(.initial) }

    /// Also calls the observer before each change, with the phase ``KVOChange/Phase/prior``.
    ///
    /// A transaction makes one prior call, before its first change. A change that an observer makes
    /// in its prior call has a prior call too. Such an observer needs a condition that ends the
    /// recursion.
    ///
    /// The thread that is about to make the change makes the call at once. If several threads
    /// change the object, the observer may be in another call on another thread. A change that
    /// another thread makes on a main-actor key path has no prior call.
    ///
    /// Several key paths may lead to the property. Their prior calls are made key path by key path.
    /// Those of one key path are made in the order of registration.
    ///
    /// With `.initial`, a source from `changes(of:)` delivers one call after the other. If an
    /// observer makes a change, the prior call for that change is made after the running calls.
    public static var prior: Self { Self(.prior) }

    /// Also reports the value before the change.
    ///
    /// The value is read before each change, once for all observers of the key path. It is kept
    /// until they have been called, so a collection that is changed in place is copied. If an
    /// observer sets the property in its prior call, the old value of the outer change is still the
    /// value before that call. In a class that reports its values with
    /// ``KVORegistrar/set(_:_:in:to:)``, it is the value that the observer has set.
    ///
    /// The old value is missing where it cannot be read:
    ///
    /// - before a change that another thread makes on a main-actor key path;
    /// - before a change that had begun when the observation began, or when the observation began
    ///   to follow the property.
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
  /// The values before and after the change are compared, even after a pause. An exception is an
  /// observer of `changes(of:)` that was paused: the first change that it receives afterwards may
  /// lead to the value that it knows. If changes of several threads overlap, the value before is
  /// the one of the previous call. `==` runs where the change is made, and no lock is held. A prior
  /// call is made before the new value is known, so it is made for equal values too. A change
  /// without an old value (see ``old``) is reported, unless the call for an overlapping change has
  /// reported its value.
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

extension KVOChange.Options: CustomStringConvertible {
  /// The names of the options.
  public var description: String { names.description }
}

/// Which options an observer asks for, independent of the type of the value.
struct ObserverWishes: OptionSet, Sendable, CustomStringConvertible {
  let rawValue: UInt8

  static let initial = Self(rawValue: 1)
  static let prior = Self(rawValue: 2)
  static let old = Self(rawValue: 4)
  static let distinct = Self(rawValue: 8)
  static let once = Self(rawValue: 16)

  /// Whether the observer is called after changes only, perhaps with the old value.
  var isPlain: Bool { isSubset(of: .old) }

  var description: String {
    let all = [
      (Self.initial, "initial"), (.prior, "prior"), (.old, "old"), (.distinct, "distinct"),
      (.once, "once"),
    ]
    return "[" + all.filter { contains($0.0) }.map(\.1).joined(separator: ", ") + "]"
  }
}
