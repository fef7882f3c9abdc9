// expect-error: its handler needs an owner that is Sendable
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

  func countChanged(_ counter: Counter, _ change: KVOChange<Int>) { lines.append("\(change.new)") }

  func follow(_ counter: Counter) {
    kvo.observe(counter, \.count, calling: Log.countChanged)
  }
}
