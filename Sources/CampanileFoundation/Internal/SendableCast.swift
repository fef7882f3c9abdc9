import Campanile

/// Casts to types whose values may cross to another isolation.
///
/// `Sendable` does not exist at run time: `any Sendable` is `Any` there, and every cast to it
/// succeeds. A value that is cast to a concrete type has that type, and the compiler has checked
/// that the type is `Sendable`. So existential types are refused, also inside the containers below.
/// Inside other generic types, only those are detected that the type's name shows. A class is not
/// detected that was asked for as `SomeClass & Sendable`: at run time that is the class.
enum SendableCast {
  /// The results of earlier checks.
  private static let verdicts = Locked<[ObjectIdentifier: Bool]>([:])

  static func cast<Value: Sendable>(_ value: Any?, to type: Value.Type) -> Value? {
    check(type)
    return value as? Value
  }

  /// Stops the program if a cast to `type` does not prove that the value is `Sendable`.
  static func check(_ type: any Any.Type) {
    require(
      provesSendable(type),
      """
      A notification was asked for a value as '\(type)', which says nothing about whether the \
      value is Sendable. Ask for a concrete type, or decode the notification where it is posted
      """)
  }

  static func provesSendable(_ type: any Any.Type) -> Bool {
    if let verdict = verdicts.withLock({ $0[ObjectIdentifier(type)] }) { return verdict }
    let verdict = judge(type)
    verdicts.withLock { $0[ObjectIdentifier(type)] = verdict }
    return verdict
  }

  private static func judge(_ type: any Any.Type) -> Bool {
    // Every error type is checked by the compiler to be `Sendable`.
    if type == (any Error).self { return true }
    if isExistential(type) || namesAny(type) { return false }
    if let container = type as? any SendableContainer.Type {
      return container.contained.allSatisfy(judge)
    }
    return true
  }

  /// The metatype of `P` is `P.Type`, and that of `any P` is `P.Protocol`.
  private static func isExistential(_ type: any Any.Type) -> Bool {
    "\(Swift.type(of: type))".hasSuffix(".Protocol")
  }

  /// Whether `Any`, `AnyObject` or the word `any` occurs in the type's name, as in `Box<Any>`.
  ///
  /// The word is in the names of existential types with arguments, such as `any Sequence<Int>`, and
  /// of functions that take them. In backticks, it is part of a declared name.
  private static func namesAny(_ type: any Any.Type) -> Bool {
    _typeName(type, qualified: true).replacing(/`[^`]*`/, with: "").split {
      !$0.isLetter && !$0.isNumber && !"_.".contains($0)
    }
    .contains { ["Any", "Swift.AnyObject", "any"].contains($0) }
  }
}

/// A type of the standard library that contains values of other types.
private protocol SendableContainer {
  static var contained: [any Any.Type] { get }
}

extension Optional: SendableContainer {
  fileprivate static var contained: [any Any.Type] { [Wrapped.self] }
}

extension Array: SendableContainer {
  fileprivate static var contained: [any Any.Type] { [Element.self] }
}

extension Set: SendableContainer {
  fileprivate static var contained: [any Any.Type] { [Element.self] }
}

extension Dictionary: SendableContainer {
  fileprivate static var contained: [any Any.Type] { [Key.self, Value.self] }
}

extension Result: SendableContainer {
  fileprivate static var contained: [any Any.Type] { [Success.self, Failure.self] }
}
