/// The value itself if it is an instance of a class, and `nil` otherwise.
///
/// A cast to `AnyObject` boxes a value that is not an instance, and first looks for a bridge to
/// another class, so it takes eight times as long.
package func classInstance(_ value: Any) -> AnyObject? {
  func open<Value>(_ value: Value) -> AnyObject? {
    guard Value.self is AnyClass else { return nil }
    // SAFETY: the value's type is a class, so the value is one reference.
    return unsafe unsafeBitCast(value, to: AnyObject.self)
  }
  // Generic code leaves a value as it knows it: as an existential, whose content is looked for here.
  return open(value) ?? (type(of: value) is AnyClass ? value as AnyObject : nil)
}
