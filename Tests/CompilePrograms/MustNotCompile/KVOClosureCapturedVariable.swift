// expect-error: mutation of captured var
import CampanileKVO
import Observation

final class Counter: SharedObservable {
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
    kvoController.observe(counter, of: { ($0.count, $0.name) }) { _, _, _ in count += 1 }
  }
}
