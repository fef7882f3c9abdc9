// expect-error: main actor-isolated property 'title' can not be mutated
import CampanileKVO
import Observation

final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  var count: Int {
    registrar.access(self, keyPath: \.count)
    return 0
  }
}

@MainActor final class Screen {
  var title = ""
  lazy var kvo = KVOController(owner: self)

  // Any thread may change the counter, and the observer runs there.
  func follow(_ counter: Counter) {
    kvo.observe(counter, \.count) { screen, _, change in
      screen.title = "\(change.new)"
    }
  }
}
