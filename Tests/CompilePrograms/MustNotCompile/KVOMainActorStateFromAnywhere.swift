// expect-error: main actor-isolated property 'title' can not be mutated
import CampanileKVO
import Observation

final class Counter: Sendable, Observable {
  private let registrar = KVORegistrar()
  var count: Int {
    registrar.access(self, keyPath: \.count)
    return 0
  }
}

@MainActor final class Screen {
  var title = ""
  lazy var kvo = KVOController(owner: self)

  // Any thread may change the counter; without `on: .main` the handler would run there.
  func follow(_ counter: Counter) {
    kvo.observe(counter, \.count) { screen, _, change in
      screen.title = "\(change.new)"
    }
  }
}
