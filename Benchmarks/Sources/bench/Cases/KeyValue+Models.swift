import CampanileKVO
import Observation

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
}
