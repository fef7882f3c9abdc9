import Foundation
import TestSupport

private final class Hashed: Hashable, Sendable {
  static func == (one: Hashed, other: Hashed) -> Bool { one === other }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// An object in so many optionals, as one value.
private func wrapped<Object>(_ object: Object, _ depth: Int) -> Any {
  depth == 0 ? object : wrapped(Optional(object), depth - 1)
}

extension Scenario {
  /// What an object is that comes in a wrapper.
  static let senders: [Scenario] = [
    Scenario("an object in optionals is the object", Array(repeating: "heard", count: 9)) {
      make, log in
      let (center, bell) = (make(), Bell())
      for observed in 0...2 {
        let token = center.add(.tick, wrapped(bell, observed)) { _ in log.record("heard") }
        for posted in 0...2 { center.post(.tick, wrapped(bell, posted)) }
        center.post(.tick, wrapped(Bell(), observed))
        center.removeObserver(token)
      }
    },
    Scenario("an object in optionals is heard under every name", ["Tick", "Tock"]) { make, log in
      let (center, bell) = (make(), Bell())
      center.add(nil, wrapped(bell, 1)) { log.record($0.name.rawValue) }
      center.post(.tick, wrapped(bell, 2))
      center.post(.tock, wrapped(Bell(), 2))
      center.post(.tock, bell)
    },
    Scenario("a removal of an object in optionals removes the observer of the object", ["1"]) {
      make, log in
      let (center, bell) = (make(), Bell())
      let token = center.add(.tick, bell) { _ in log.record("1") }
      center.post(.tick, bell)
      center.removeObserver(token, name: .tick, object: wrapped(bell, 2))
      center.post(.tick, bell)
    },
    Scenario("an optional without an object is no object", ["1", "2"]) { make, log in
      let (center, none) = (make(), Bell?.none)
      center.add(.tick, none as Any) { _ in log.record("\(log.count + 1)") }
      center.add(.tick, Bell()) { _ in log.record("about an object") }
      center.post(.tick, wrapped(none, 1))
      center.post(.tick, Bell())
    },
    Scenario("a value in optionals is the value", Array(repeating: "heard", count: 4)) {
      make, log in
      let center = make()
      for observed in 0...1 {
        let token = center.add(.tick, wrapped(5, observed)) { _ in log.record("heard") }
        for posted in 0...1 { center.post(.tick, wrapped(5, posted)) }
        center.post(.tick, wrapped(6, observed))
        center.removeObserver(token)
      }
    },
    Scenario("an object that is wrapped to be hashed is the object", ["1", "2", "3", "4"]) {
      make, log in
      let (center, object) = (make(), Hashed())
      let senders: [Any] = [object, wrapped(AnyHashable(object), 1), AnyHashable(object)]
      for (observed, posted) in [(0, 1), (1, 0), (2, 2), (2, 1)] {
        let token = center.add(.tick, senders[observed]) { _ in log.record("\(log.count + 1)") }
        center.post(.tick, senders[posted])
        center.post(.tick, AnyHashable(Hashed()))
        center.removeObserver(token)
      }
    },
  ]
}
