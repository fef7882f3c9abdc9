// expect-error: name its key paths without brackets
import Campanile
import CampanileKVO
import Dispatch
import Observation

final class Counter: Sendable, Observable {
  private let registrar = KVORegistrar()
  var count: Int {
    registrar.access(self, keyPath: \.count)
    return 0
  }
  var name: String { "\(count)" }
}

final class Log {
  var lines: [String] = []
  lazy var kvo = KVOController(owner: self)

  func follow(_ counter: Counter) {
    kvo.observe(counter, [\.count, \.name]) { log, _, change in log.lines.append("\(change.new)") }
  }
}
