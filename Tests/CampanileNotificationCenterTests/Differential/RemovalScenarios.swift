import Foundation
import TestSupport

extension Scenario {
  /// Who is removed by what.
  static let removals: [Scenario] = [
    Scenario("a removed observer is silent", []) { make, log in
      let center = make()
      let token = center.add(.tick) { _ in log.record("heard") }
      center.removeObserver(token)
      center.post(.tick)
    },
    Scenario("removing twice does no harm", ["other"]) { make, log in
      let center = make()
      let token = center.add(.tick) { _ in log.record("heard") }
      center.add(.tick) { _ in log.record("other") }
      center.removeObserver(token)
      center.removeObserver(token)
      center.post(.tick)
    },
    Scenario("one of two is removed", ["two"]) { make, log in
      let center = make()
      let token = center.add(.tick) { _ in log.record("one") }
      center.add(.tick) { _ in log.record("two") }
      center.removeObserver(token)
      center.post(.tick)
    },
    Scenario("removing by its name removes", []) { make, log in
      let center = make()
      let token = center.add(.tick) { _ in log.record("heard") }
      center.removeObserver(token, name: .tick, object: nil)
      center.post(.tick)
    },
    Scenario("removing by another name does not", ["heard"]) { make, log in
      let center = make()
      let token = center.add(.tick) { _ in log.record("heard") }
      center.removeObserver(token, name: .tock, object: nil)
      center.post(.tick)
    },
    Scenario("removing by its object removes", []) { make, log in
      let (center, bell) = (make(), Bell())
      let token = center.add(.tick, bell) { _ in log.record("heard") }
      center.removeObserver(token, name: nil, object: bell)
      center.post(.tick, bell)
    },
    Scenario("removing by another object does not", ["heard"]) { make, log in
      let (center, bell) = (make(), Bell())
      let token = center.add(.tick, bell) { _ in log.record("heard") }
      center.removeObserver(token, name: .tick, object: Bell())
      center.post(.tick, bell)
    },
    Scenario("removing by a number that is its object removes", []) { make, log in
      let center = make()
      let token = center.add(.tick, 5) { _ in log.record("heard") }
      center.removeObserver(token, name: .tick, object: 5)
      center.post(.tick, 5)
    },
    Scenario("removing by another number does not", ["heard"]) { make, log in
      let center = make()
      let token = center.add(.tick, 5) { _ in log.record("heard") }
      center.removeObserver(token, name: .tick, object: 6)
      center.post(.tick, 5)
    },
    Scenario("removing by a string that is its object removes", []) { make, log in
      let center = make()
      let token = center.add(.tick, "bell") { _ in log.record("heard") }
      center.removeObserver(token, name: nil, object: "be" + "ll")
      center.post(.tick, "bell")
    },
    Scenario("removing by its name and object removes", []) { make, log in
      let (center, bell) = (make(), Bell())
      let token = center.add(.tick, bell) { _ in log.record("heard") }
      center.removeObserver(token, name: .tick, object: bell)
      center.post(.tick, bell)
    },
    Scenario("removing by its object and another name does not", ["heard"]) { make, log in
      let (center, bell) = (make(), Bell())
      let token = center.add(.tick, bell) { _ in log.record("heard") }
      center.removeObserver(token, name: .tock, object: bell)
      center.post(.tick, bell)
    },
    Scenario("an observer of any object is not removed by an object", ["heard"]) { make, log in
      let (center, bell) = (make(), Bell())
      let token = center.add(.tick) { _ in log.record("heard") }
      center.removeObserver(token, name: .tick, object: bell)
      center.post(.tick)
    },
    Scenario("an observer of any name is not removed by a name", ["heard"]) { make, log in
      let center = make()
      let token = center.add(nil) { _ in log.record("heard") }
      center.removeObserver(token, name: .tick, object: nil)
      center.post(.tick)
    },
    Scenario("an observer of any name is removed by its token", []) { make, log in
      let center = make()
      let token = center.add(nil) { _ in log.record("heard") }
      center.removeObserver(token)
      center.post(.tick)
    },
    Scenario("an object that observes nothing removes nobody", ["heard"]) { make, log in
      let center = make()
      center.add(.tick) { _ in log.record("heard") }
      center.removeObserver(Bell())
      center.removeObserver(NSObject(), name: .tick, object: nil)
      center.post(.tick)
    },
    Scenario("a value removes nobody", ["heard"]) { make, log in
      let center = make()
      center.add(.tick) { _ in log.record("heard") }
      center.removeObserver(5)
      center.removeObserver("bell", name: .tick, object: nil)
      center.post(.tick)
    },
    Scenario("a stale token that is removed again removes nobody else", ["other"]) { make, log in
      let center = make()
      let token = center.add(.tick) { _ in log.record("heard") }
      center.removeObserver(token)
      center.add(.tick) { _ in log.record("other") }
      center.removeObserver(token)
      center.post(.tick)
    },
    Scenario("a token given to the wrong center removes nobody there", ["one", "other"]) {
      make, log in
      let (one, other) = (make(), make())
      let token = one.add(.tick) { _ in log.record("one") }
      other.add(.tick) { _ in log.record("other") }
      other.removeObserver(token)
      one.post(.tick)
      other.post(.tick)
    },
    Scenario("what a removed observer captured is released", ["1", "0"]) { make, log in
      let (center, live) = (make(), LiveCount())
      func add() -> any NSObjectProtocol {
        let tracked = Tracked(live)
        return center.add(.tick) { [tracked] _ in tracked.touch() }
      }
      let token = add()
      log.record("\(live.current)")
      center.removeObserver(token)
      log.record("\(live.current)")
    },
    Scenario("what an observer captured is released with its center", ["1", "0"]) { make, log in
      let live = LiveCount()
      func add() {
        let (center, tracked) = (make(), Tracked(live))
        center.add(.tick) { [tracked] _ in tracked.touch() }
        log.record("\(live.current)")
      }
      add()
      log.record("\(live.current)")
    },
    Scenario("an observer is added again after its removal", ["again"]) { make, log in
      let center = make()
      center.removeObserver(center.add(.tick) { _ in log.record("first") })
      center.add(.tick) { _ in log.record("again") }
      center.post(.tick)
    },
    Scenario("a thousand are added and removed", ["0"]) { make, log in
      let (center, heard) = (make(), Recorder<Int>())
      let tokens = (0..<1_000).map { number in center.add(.tick) { _ in heard.record(number) } }
      for token in tokens { center.removeObserver(token) }
      center.post(.tick)
      log.record("\(heard.count)")
    },
  ]
}
