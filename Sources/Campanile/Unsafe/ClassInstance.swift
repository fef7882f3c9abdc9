/// The value itself if it is an instance of a class, and `nil` otherwise.
///
/// Without a copy to a box: a cast to `AnyObject` boxes whatever is not an instance, and looks for a
/// bridge to another class first, which takes eight times as long.
@inline(never)
package func classInstance(_ value: Any) -> AnyObject? {
  func open<Value>(_ value: Value) -> AnyObject? {
    guard Value.self is AnyClass else { return nil }
    // SAFETY: the value's type is a class, so the value is one reference.
    return unsafe unsafeBitCast(value, to: AnyObject.self)
  }
  return open(value)
}
