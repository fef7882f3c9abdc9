// expect-error: 16:54: 'initial' is unavailable: Only a state has a value to begin with: CurrentValue, ReadOnlyState; for a key path, pass .initial to changes(of:)
// A source of changes takes `.initial` where it is made.
import Campanile
import CampanileKVO
import Synchronization

final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  private let state = Mutex(0)

  var count: Int { registrar.get(self, \.count, in: state) }
}

func follow(_ counter: Counter) -> ObservationToken {
  let counts = counter.changes(of: \.count)
  return counts.observe(on: .queue(.main), options: .initial) { print($0.new) }
}
