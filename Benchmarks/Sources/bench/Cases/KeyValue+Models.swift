import CampanileKVO
import Observation
import Synchronization

/// What is observed in the cases.
extension KeyValue {
  /// A class as the standard library observes it.
  @Observable final class Standard {
    var value = 0
    var other = 0
    var values = [0, 1, 2, 3]
    var child: Standard?
    var sum: Int { value + other }
  }

  /// The same with the one line that lets Campanile observe it.
  @Observable final class Marked {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    var value = 0
    var other = 0
    var values = [0, 1, 2, 3]
    var sum: Int { value + other }
    var child: Marked?
  }

  /// A class that calls its observers itself.
  final class HandWritten {
    var handlers: [(_ old: Int, _ new: Int) -> Void] = []
    var value = 0 {
      didSet { for handler in handlers { handler(oldValue, value) } }
    }
  }

  /// The same with a wrapper for each property.
  final class Wrapped: Observable {
    @Observed var value = 0
    @Observed var other = 0
    @Observed var values = [0, 1, 2, 3]
    var sum: Int { value + other }
  }

  /// A class that any thread may change, and that sets through its registrar.
  final class Shared: SharedObservable {
    private let registrar = KVORegistrar()
    private let state = Mutex(0)
    var value: Int {
      get { registrar.get(self, \.value, in: state) }
      set { registrar.set(self, \.value, in: state, to: newValue) }
    }

    func increment() { registrar.update(self, \.value, in: state) { $0 += 1 } }
  }
}
