import CampanileKVO
import Observation

/// A class as the standard library observes it.
@Observable private final class Standard {
  var value = 0
  var other = 0
  var sum: Int { value + other }
}

/// The same with the one line that lets Campanile observe it.
@Observable private final class Marked {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var value = 0
  var other = 0
  var sum: Int { value + other }
  var child: Marked?
}

/// The same with a wrapper for each property.
private final class Wrapped: Observable {
  @Observed var value = 0
  @Observed var other = 0
  var sum: Int { value + other }
}

/// Key-value observing, beside the standard library's.
enum KeyValue {
  static var cases: [Case] {
    unobserved + [1, 3, 10].map(observed) + [computed, nested, observing]
  }

  private static var standardSet: Contender {
    Contender("@Observable") {
      let object = Standard()
      blackHole(object.value)
      return .loop { iterations in
        for value in 0..<iterations { object.value = value }
      }
    }
  }

  private static var unobserved: [Case] {
    let marked = Contender(Contender.ours) {
      let object = Marked()
      blackHole(object.value)
      return .loop { iterations in
        for value in 0..<iterations { object.value = value }
      }
    }
    let wrapped = Contender(Contender.ours) {
      let object = Wrapped()
      return .loop { iterations in
        for value in 0..<iterations { object.value = value }
      }
    }
    let wrappedRead = Contender(Contender.ours) {
      let object = Wrapped()
      blackHole(object.value)
      return .loop { iterations in
        for value in 0..<iterations { object.value = value }
      }
    }
    return [
      Case(name: "set a property nobody observes", contenders: [marked, standardSet]),
      Case(name: "set a wrapped property nobody observes", contenders: [wrapped, standardSet]),
      Case(
        name: "set a wrapped property nobody observes, once read",
        contenders: [wrappedRead, standardSet]),
    ]
  }

  /// The standard way to hear of one change: to track, and to track again.
  private static func tracking(_ read: @escaping (Standard) -> Int) -> Contender {
    Contender("@Observable, tracked") {
      let object = Standard()
      return .loop { iterations in
        for value in 0..<iterations {
          withObservationTracking {
            blackHole(read(object))
          } onChange: {
          }
          object.value = value
        }
      }
    }
  }

  private static func observed(_ count: Int) -> Case {
    let ours = Contender(Contender.ours) {
      let object = Marked()
      let owner = Owner(Sink())
      let controller = KVOController(owner: owner)
      var sum = 0
      for _ in 0..<count {
        controller.observe(object, \.value, policy: .append) { _, _, change in sum &+= change.new }
      }
      return .loop { iterations in
        for value in 0..<iterations { object.value = value }
        withExtendedLifetime((controller, owner)) {}
        blackHole(sum)
      }
    }
    return Case(
      name: "set a property with \(count, "observer")",
      contenders: [ours] + (count == 1 ? [tracking { $0.value }] : []))
  }

  private static var computed: Case {
    let ours = Contender(Contender.ours) {
      let object = Marked()
      let owner = Owner(Sink())
      let controller = KVOController(owner: owner)
      controller.observe(object, \.sum) { _, _, _ in }
      return .loop { iterations in
        for value in 0..<iterations { object.value = value }
        withExtendedLifetime((controller, owner)) {}
      }
    }
    return Case(
      name: "set what an observed property is computed from",
      contenders: [ours, tracking { $0.sum }])
  }

  private static var nested: Case {
    let ours = Contender(Contender.ours) {
      let object = Marked()
      let child = Marked()
      object.child = child
      let owner = Owner(Sink())
      let controller = KVOController(owner: owner)
      controller.observe(object, \.child?.value) { _, _, _ in }
      return .loop { iterations in
        for value in 0..<iterations { child.value = value }
        withExtendedLifetime((controller, owner, object)) {}
      }
    }
    return Case(name: "set a property observed by a nested path", contenders: [ours])
  }

  private static var observing: Case {
    let ours = Contender(Contender.ours) {
      let object = Marked()
      let owner = Owner(Sink())
      let controller = KVOController(owner: owner)
      return .loop { iterations in
        for _ in 0..<iterations {
          controller.observe(object, \.value) { _, _, _ in }
          controller.unobserve(object, \.value)
        }
        withExtendedLifetime(owner) {}
      }
    }
    return Case(name: "observe a property and stop", contenders: [ours])
  }
}
