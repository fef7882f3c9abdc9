/// The rival called B: the loop that everyone would write, over an array of closures.
final class BareLoop<Value> {
  var observers: [(Value) -> Void] = []

  @inline(never)
  func send(_ value: Value) {
    for observer in observers { observer(value) }
  }
}
