// expect-error: its delivery is 'on: .main'
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

@MainActor final class Screen {
  var count = 0
  lazy var kvo = KVOController(owner: self)

  func countChanged(_ counter: Counter, _ change: KVOChange<Int>) { count = change.new }

  func follow(_ counter: Counter, _ queue: DispatchQueue) {
    kvo.observe(counter, \.count, on: .queue(queue), calling: Screen.countChanged)
  }
}
