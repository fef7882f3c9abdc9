// expect-error: captured var 'sum'
import Campanile
import CampanileKVO
import Observation

final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  var count: Int {
    registrar.access(self, keyPath: \.count)
    return 0
  }
}

func follow(_ counter: Counter) -> ObservationToken {
  var sum = 0
  return counter.observe(\.count) { _, change in sum += change.new }
}
