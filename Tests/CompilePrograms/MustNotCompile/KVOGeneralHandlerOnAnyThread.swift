// expect-error: 22:9: type 'Log' does not conform to the 'Sendable' protocol
import CampanileKVO
import Observation

final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  var count: Int {
    registrar.access(self, keyPath: \.count)
    return 0
  }
}

final class Log: KVOChangeHandler {
  var lines: [String] = []
  lazy var kvo = KVOController(owner: self)

  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {
    lines.append("\(change.new)")
  }

  func follow(_ counter: Counter) {
    kvo.observe(counter, \.count)
  }
}
