// expect-error: mutation of captured var
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

final class Store: Sendable, KVOControllerOwner {
  let kvoControllers = KVOControllers()

  func follow(_ counter: Counter) {
    var count = 0
    kvoController.observe(counter, \.count, \.name) { _, _, _ in count += 1 }
  }
}
