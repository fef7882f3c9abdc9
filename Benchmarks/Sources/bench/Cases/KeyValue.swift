import CampanileKVO
import Observation

/// A class as the standard library observes it.
@Observable private final class Standard {
  var value = 0
  var other = 0
  var values = [0, 1, 2, 3]
  var sum: Int { value + other }
}

/// The same with the one line that lets Campanile observe it.
@Observable private final class Marked {
  @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
  var value = 0
  var other = 0
  var values = [0, 1, 2, 3]
  var sum: Int { value + other }
  var child: Marked?
}

/// The same with a wrapper for each property.
private final class Wrapped: Observable {
  @Observed var value = 0
  @Observed var other = 0
  @Observed var values = [0, 1, 2, 3]
  var sum: Int { value + other }
}

/// Key-value observing, beside the standard library's.
enum KeyValue {
  static var cases: [Case] {
    unobserved + readBetweenSets + changedInPlace + tracked + [1, 3, 10].map(observed)
      + [computed, nested, observing]
  }

  /// Does something over and over with an object that has been read once.
  private static func contender<Object>(
    _ name: String, _ make: @escaping () -> Object, read: @escaping (Object) -> Void = { _ in },
    _ loop: @escaping (Object, Int) -> Void
  ) -> Contender {
    Contender(name) {
      let object = make()
      read(object)
      return .loop { iterations in loop(object, iterations) }
    }
  }

  private static func standardSet(after read: @escaping (Standard) -> Void) -> Contender {
    contender("@Observable", Standard.init, read: read) { object, iterations in
      for value in 0..<iterations { object.value = value }
    }
  }

  private static func markedSet(after read: @escaping (Marked) -> Void) -> Contender {
    contender(Contender.ours, Marked.init, read: read) { object, iterations in
      for value in 0..<iterations { object.value = value }
    }
  }

  private static func wrappedSet(after read: @escaping (Wrapped) -> Void) -> Contender {
    contender(Contender.ours, Wrapped.init, read: read) { object, iterations in
      for value in 0..<iterations { object.value = value }
    }
  }

  private static var unobserved: [Case] {
    let standard = standardSet { blackHole($0.value) }
    return [
      Case(
        name: "set a property nobody observes",
        contenders: [markedSet { blackHole($0.value) }, standard]),
      Case(
        name: "set a wrapped property nobody observes",
        contenders: [wrappedSet { _ in }, standard]),
      Case(
        name: "set a wrapped property nobody observes, once read",
        contenders: [wrappedSet { blackHole($0.value) }, standard]),
    ]
  }

  /// What programs do that read what they set.
  private static var readBetweenSets: [Case] {
    let standard = contender("@Observable", Standard.init) { object, iterations in
      for value in 0..<iterations { object.value = value &+ object.value }
    }
    let marked = contender(Contender.ours, Marked.init) { object, iterations in
      for value in 0..<iterations { object.value = value &+ object.value }
    }
    let wrapped = contender(Contender.ours, Wrapped.init) { object, iterations in
      for value in 0..<iterations { object.value = value &+ object.value }
    }
    return [
      Case(name: "read and set a property nobody observes", contenders: [marked, standard]),
      Case(
        name: "read and set a wrapped property nobody observes", contenders: [wrapped, standard]),
    ]
  }

  private static var changedInPlace: [Case] {
    let standard = contender("@Observable", Standard.init, read: { blackHole($0.values[0]) }) {
      object, iterations in
      for value in 0..<iterations { object.values[value & 3] = value }
    }
    let marked = contender(Contender.ours, Marked.init, read: { blackHole($0.values[0]) }) {
      object, iterations in
      for value in 0..<iterations { object.values[value & 3] = value }
    }
    let wrapped = contender(Contender.ours, Wrapped.init, read: { blackHole($0.values[0]) }) {
      object, iterations in
      for value in 0..<iterations { object.values[value & 3] = value }
    }
    return [
      Case(
        name: "change a property in place that nobody observes", contenders: [marked, standard]),
      Case(
        name: "change a wrapped property in place that nobody observes",
        contenders: [wrapped, standard]),
    ]
  }

  /// Sets of a property that has been tracked once, and whose registrar keeps asking since.
  private static var tracked: [Case] {
    let standard = standardSet { track($0.value) }
    return [
      Case(
        name: "set a property that was tracked once",
        contenders: [markedSet { track($0.value) }, standard]),
      Case(
        name: "set a wrapped property that was tracked once",
        contenders: [wrappedSet { track($0.value) }, standard]),
    ]
  }

  private static func track(_ read: @autoclosure () -> Int) {
    withObservationTracking {
      blackHole(read())
    } onChange: {
    }
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

extension KeyValue {
  /// The cases whose instructions are counted.
  static var instructionCases: [InstructionCase] {
    [
      InstructionCase(name: "kvo-set", count: 1_000) { count in
        let object = Marked()
        blackHole(object.value)
        for value in 0..<count { object.value = value }
      },
      InstructionCase(name: "kvo-set-wrapped", count: 1_000) { count in
        let object = Wrapped()
        blackHole(object.value)
        for value in 0..<count { object.value = value }
      },
      InstructionCase(name: "kvo-set-in-place", count: 1_000) { count in
        let object = Wrapped()
        blackHole(object.values[0])
        for value in 0..<count { object.values[value & 3] = value }
      },
      InstructionCase(name: "kvo-set-observed-1", count: 500) { setObserved(\.value, 1, $0) },
      InstructionCase(name: "kvo-set-observed-10", count: 100) { setObserved(\.value, 10, $0) },
      InstructionCase(name: "kvo-set-computed", count: 500) { setObserved(\.sum, 1, $0) },
      InstructionCase(name: "kvo-set-nested", count: 500, run: setNested),
      InstructionCase(name: "kvo-observe-cancel", count: 200, run: observeAndCancel),
    ]
  }

  private static func setObserved(_ keyPath: KeyPath<Marked, Int>, _ observers: Int, _ count: Int) {
    let object = Marked()
    let owner = Owner(Sink())
    let controller = KVOController(owner: owner)
    for _ in 0..<observers {
      controller.observe(object, keyPath, policy: .append) { $0.add($2.new) }
    }
    for value in 0..<count { object.value = value + 1 }
    withExtendedLifetime((controller, owner)) {}
  }

  private static func setNested(_ count: Int) {
    let object = Marked()
    let child = Marked()
    object.child = child
    let owner = Owner(Sink())
    let controller = KVOController(owner: owner)
    controller.observe(object, \.child?.value) { _, _, _ in }
    for value in 0..<count { child.value = value + 1 }
    withExtendedLifetime((controller, owner, object)) {}
  }

  private static func observeAndCancel(_ count: Int) {
    let object = Marked()
    let owner = Owner(Sink())
    let controller = KVOController(owner: owner)
    for _ in 0..<count {
      controller.observe(object, \.value) { _, _, _ in }
      controller.unobserve(object, \.value)
    }
    withExtendedLifetime(owner) {}
  }
}
