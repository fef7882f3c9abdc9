import Campanile
import CampanileKVO
import Observation

/// Key-value observing, beside the standard library's.
enum KeyValue {
  static var cases: [Case] {
    unobserved + readBetweenSets + changedInPlace + tracked + [1, 3, 10].map(observed)
      + [1, 10].map(observedWithOld) + [computed, nested, observing]
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

  /// A case for each of our ways, each beside the same rival.
  private static func cases(
    beside rival: Contender, _ ours: KeyValuePairs<String, Contender>
  ) -> [Case] {
    ours.map { Case(name: $0.key, contenders: [$0.value, rival]) }
  }

  private static var unobserved: [Case] {
    cases(
      beside: standardSet { blackHole($0.value) },
      [
        "set a property nobody observes": markedSet { blackHole($0.value) },
        "set a wrapped property nobody observes": wrappedSet { _ in },
        "set a wrapped property nobody observes, once read": wrappedSet { blackHole($0.value) },
      ])
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
    return cases(
      beside: standard,
      [
        "read and set a property nobody observes": marked,
        "read and set a wrapped property nobody observes": wrapped,
      ])
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
    return cases(
      beside: standard,
      [
        "change a property in place that nobody observes": marked,
        "change a wrapped property in place that nobody observes": wrapped,
      ])
  }

  /// Sets of a property that has been tracked once, and whose registrar keeps asking since.
  private static var tracked: [Case] {
    cases(
      beside: standardSet { track($0.value) },
      [
        "set a property that was tracked once": markedSet { track($0.value) },
        "set a wrapped property that was tracked once": wrappedSet { track($0.value) },
      ])
  }

  private static func track(_ read: @autoclosure () -> Int) {
    withObservationTracking {
      blackHole(read())
    } onChange: {
    }
  }

  /// The standard way to hear of one change: to track, and to track again.
  private static func tracking(
    _ count: Int = 1, _ read: @escaping (Standard) -> Int,
    set: @escaping (Standard, Int) -> Void = { $0.value = $1 }
  ) -> Contender {
    Contender("@Observable, tracked") {
      let object = Standard()
      object.child = Standard()
      return .loop { iterations in
        for value in 0..<iterations {
          for _ in 0..<count {
            withObservationTracking {
              blackHole(read(object))
            } onChange: {
            }
          }
          set(object, value)
        }
      }
    }
  }

  private static func observed(_ count: Int) -> Case {
    observed("set a property with \(count, "observer")", count, [])
  }

  private static func observedWithOld(_ count: Int) -> Case {
    observed("set a property with \(count, "observer") of old values", count, .old)
  }

  private static func observed(
    _ name: String, _ count: Int, _ options: KVOChange<Int>.Options
  ) -> Case {
    let ours = Contender(Contender.ours) {
      let object = Marked()
      let owner = Owner(Sink())
      let controller = KVOController(owner: owner)
      var sum = 0
      for _ in 0..<count {
        controller.observe(object, \.value, options: options, policy: .append) { _, _, change in
          sum &+= change.new
        }
      }
      return .loop { iterations in
        for value in 0..<iterations { object.value = value }
        withExtendedLifetime((controller, owner)) {}
        blackHole(sum)
      }
    }
    return Case(
      name: name,
      contenders: [ours, byHand(count), currentValue(count), tracking(count) { $0.value }])
  }

  /// Handlers with weak owners and objects, called from `didSet`: what is written by hand.
  private static func byHand(_ count: Int) -> Contender {
    Contender("didSet loop") {
      let object = HandWritten()
      let owner = Owner(Sink())
      var sum = 0
      for _ in 0..<count {
        object.handlers.append { [weak owner, weak object] _, new in
          if owner != nil && object != nil { sum &+= new }
        }
      }
      return .loop { iterations in
        for value in 0..<iterations { object.value = value }
        withExtendedLifetime(owner) {}
        blackHole(sum)
      }
    }
  }

  private static func currentValue(_ count: Int) -> Contender {
    Contender("CurrentValue") {
      let value = CurrentValue(0)
      let owner = Owner(Sink())
      for _ in 0..<count { value.observe(owner: owner) { owner, value in owner.add(value) } }
      return .loop { iterations in
        for number in 0..<iterations { value.value = number }
        withExtendedLifetime(owner) {}
      }
    }
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
    return Case(
      name: "set a property observed by a nested path",
      contenders: [
        ours,
        tracking {
          $0.child?.value ?? 0
        } set: {
          $0.child?.value = $1
        },
      ])
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
