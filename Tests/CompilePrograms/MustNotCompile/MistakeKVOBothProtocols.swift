// expect-error: 9:15: ambiguous use of 'access(_:keyPath:)'
// A class conforms to both protocols.
import CampanileKVO
import Observation

final class Counter: SharedObservable, Observable {
  private let registrar = KVORegistrar()
  var count: Int {
    registrar.access(self, keyPath: \.count)
    return 0
  }
}
