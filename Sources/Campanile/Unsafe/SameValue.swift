/// A value as what it is: of a type that generic code knows by two names.
///
/// A cast does the same, in several times as many steps. Both types are compared before; it is a mistake
/// in this package if they differ.
package func same<From, To>(_ value: From, as type: To.Type) -> To {
  precondition(From.self == type, "A value of type \(From.self) is none of type \(type)")
  // SAFETY: they are the same type.
  return unsafe unsafeBitCast(value, to: To.self)
}
