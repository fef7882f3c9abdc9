// expect-error: main actor-isolated conformance
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

@MainActor final class Screen: @MainActor KVOChangeHandler {
  var count = ""
  lazy var kvo = KVOController(owner: self)

  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) { count = "\(change.new)" }

  func follow(_ counter: Counter, _ queue: DispatchQueue) {
    kvo.observe(counter, \.count, on: .queue(queue))
  }
}
