// expect-error: its handler needs 'on: .main', or an owner that is Sendable
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
