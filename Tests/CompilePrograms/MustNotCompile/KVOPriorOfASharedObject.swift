// expect-error: 'prior' is unavailable: Prior calls exist for objects that stay in one isolation
// Another thread may make a change between the prior call and the change that it announces.
import CampanileKVO
import Synchronization

final class Counter: SharedObservable {
  private let registrar = KVORegistrar()
  private let state = Mutex(0)
  var count: Int { registrar.get(self, \.count, in: state) }
}

func follow(_ counter: Counter) -> AnyObject {
  counter.observe(\.count, options: [.old, .prior]) { _, _ in }
}
