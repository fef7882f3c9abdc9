// expect-error: its handler needs an owner that is Sendable
import CampanileKVO
import Observation

final class Counter: Sendable, Observable {
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
