// expect-error: main actor-isolated conformance
import CampanileKVO
import Observation

final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  var count: Int {
    registrar.access(self, keyPath: \.count)
    return 0
  }
}

@MainActor final class Screen: @MainActor KVOChangeHandler {
  var count = ""
  lazy var kvo = KVOController(owner: self)

  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { count = "\(change.new)" }

  // Any thread may change the counter, and the method is on the main actor.
  func follow(_ counter: Counter) {
    kvo.observe(counter, \.count)
  }
}
