/// The rival called B: the loop that everyone would write, over an array of closures.
///
/// The array is a parameter, and no property of an object that would have to be loaded and
/// retained.
enum BareLoop {
  @inline(never)
  static func send<Value>(_ value: Value, to observers: [(Value) -> Void]) {
    for observer in observers { observer(value) }
  }
}
