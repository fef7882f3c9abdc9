// expect-error: 18:9: type 'Log' does not conform to the 'Sendable' protocol
// Any thread may change the object, and the owner is not Sendable.
import CampanileKVO

final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  var count: Int {
    registrar.access(self, keyPath: \.count)
    return 0
  }
}

final class Log {
  var lines: [String] = []
  lazy var kvo = KVOController(owner: self)

  func follow(_ counter: Counter) {
    kvo.observe(counter, \.count) { log, _, change in log.lines.append("\(change.new)") }
  }
}
