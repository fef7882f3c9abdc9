import Campanile

/// Casts to types whose values may cross to another isolation.
///
/// `Sendable` leaves no trace at run time: there `any Sendable` is `Any`, and a cast to it lets
/// everything through. A cast to a concrete type is another matter: what passes is of that type,
/// and the compiler has seen that the type is Sendable. So types that stand for many are refused,
/// also inside the containers below; those inside other generic types are not seen.
enum SendableCast {
  /// What was found out about a type, which stays so.
  private static let verdicts = Locked<[ObjectIdentifier: Bool]>([:])

  static func cast<Value: Sendable>(_ value: Any?, to type: Value.Type) -> Value? {
    check(type)
    return value as? Value
  }

  /// Stops the program if a cast to `type` proves nothing.
  static func check(_ type: any Any.Type) {
    precondition(
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
    // Whatever is an error has been compiled as a Sendable type.
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

  /// Whether `Any` or `AnyObject` occurs in the type's name, as in `Box<Any>`.
  private static func namesAny(_ type: any Any.Type) -> Bool {
    _typeName(type, qualified: true).split { !$0.isLetter && !$0.isNumber && !"_.".contains($0) }
      .contains { $0 == "Any" || $0 == "Swift.AnyObject" }
  }
}

/// A type of the standard library whose values are made of others.
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
