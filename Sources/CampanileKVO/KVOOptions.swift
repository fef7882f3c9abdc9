/// What can be asked of the observation of a key path.
///
/// ```swift
/// kvo.observe(player, \.title, options: [.initial, .old]) { screen, player, change in … }
/// ```
public struct KVOOptions<Value>: ExpressibleByArrayLiteral {
  var isInitial = false
  var isPrior = false
  var wantsOld = false
  var isOnce = false
  var areEqual: ((Value, Value) -> Bool)?

  /// Begins with a call that carries the value of that moment.
  ///
  /// For immediate delivery it is made before `observe` returns; changes wait until it has
  /// returned.
  public static var initial: Self { Self { $0.isInitial = true } }

  /// Makes a call before each change too; its phase is `.prior`.
  ///
  /// In a transaction it is made before the first change. A change that a handler makes in it is one
  /// of its own, with a prior call before it: a handler that changes what it observes there must know
  /// when to stop.
  ///
  /// It is made on the thread that is about to make the change, which waits for nobody: a handler of
  /// an object that several threads change may be in another call on another thread.
  public static var prior: Self { Self { $0.isPrior = true } }

  /// Gives the value before the change too.
  ///
  /// It is read before each change, and kept until the change has been told: a collection that is
  /// changed in place is copied for it. Where it cannot be read there is none: before a change that
  /// another thread makes on the way of a main-actor key path, and before a change that had begun
  /// when its property came to be followed.
  public static var old: Self { Self { $0.wantsOld = true } }

  /// Ends the observation with its first call.
  public static var once: Self { Self { $0.isOnce = true } }

  private init(_ ask: (inout Self) -> Void) {
    self.init()
    ask(&self)
  }

  private init() {}

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

extension KVOOptions where Value: Equatable {
  /// Leaves out changes to an equal value: one that the observer knows already.
  ///
  /// `==` runs where the change is made, and under no lock. A prior call is made before it is known
  /// whether the value will be another one. A change that has no old value, as ``old`` says, is
  /// told.
  public static var distinct: Self {
    Self { $0.areEqual = { $0 == $1 } }
  }
}

extension KVOOptions: CustomStringConvertible {
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
