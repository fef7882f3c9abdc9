/// A value as what it is: of a type that generic code knows by two names.
///
/// A cast does the same, in several times as many steps. Both types are compared before; it is a mistake
/// in this package if they differ.
package func same<From, To>(_ value: From, as type: To.Type) -> To {
  require(From.self == type, "A value of type \(From.self) is none of type \(type)")
  // SAFETY: they are the same type.
  return unsafe unsafeBitCast(value, to: To.self)
}

/// An object as an instance of its class, which the caller knows.
///
/// A cast looks a generic class up, which takes several hundred instructions. Here only a debug
/// build does that, and stops the program if the object is not an instance of the class.
@inlinable @inline(__always)
package func known<Object: AnyObject>(_ object: AnyObject, as type: Object.Type) -> Object {
  // SAFETY: the caller has made sure of the class.
  unsafe unsafeDowncast(object, to: type)
}

/// Whether two arrays are copies of each other of which neither has been changed.
///
/// The elements are not looked at.
package func areIdentical<Element>(_ one: [Element], _ other: [Element]) -> Bool {
  // SAFETY: the addresses are only compared.
  unsafe one.count == other.count
    && one.withUnsafeBufferPointer { $0.baseAddress }
      == other.withUnsafeBufferPointer { $0.baseAddress }
}
