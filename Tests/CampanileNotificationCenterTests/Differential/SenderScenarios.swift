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
    Scenario("an object in optionals is the object", Array(repeating: "heard", count: 9)) { desk in
      for observed in 0...2 {
        let token = desk.hear(.tick, wrapped(desk.bell, observed), as: "heard")
        for posted in 0...2 { desk.post(.tick, wrapped(desk.bell, posted)) }
        desk.post(.tick, wrapped(Bell(), observed))
        desk.center.removeObserver(token)
      }
    },
    Scenario("an object in optionals is heard under every name", ["Tick", "Tock"]) { desk in
      desk.hear(nil, wrapped(desk.bell, 1))
      desk.post(.tick, wrapped(desk.bell, 2))
      desk.post(.tock, wrapped(Bell(), 2))
      desk.post(.tock, desk.bell)
    },
    Scenario("a removal of an object in optionals removes the observer of the object", ["1"]) {
      desk in
      let token = desk.hear(.tick, desk.bell, as: "1")
      desk.post(.tick, desk.bell)
      desk.center.removeObserver(token, name: .tick, object: wrapped(desk.bell, 2))
      desk.post(.tick, desk.bell)
    },
    Scenario("an optional without an object is no object", ["1", "1"]) { desk in
      let none = Bell?.none
      desk.hear(.tick, none as Any, as: "1")
      desk.hear(.tick, Bell(), as: "about an object")
      desk.post(.tick, wrapped(none, 1))
      desk.post(.tick, Bell())
    },
    Scenario("a value in optionals is the value", Array(repeating: "heard", count: 4)) { desk in
      for observed in 0...1 {
        let token = desk.hear(.tick, wrapped(5, observed), as: "heard")
        for posted in 0...1 { desk.post(.tick, wrapped(5, posted)) }
        desk.post(.tick, wrapped(6, observed))
        desk.center.removeObserver(token)
      }
    },
    Scenario("an object that is wrapped to be hashed is the object", ["1", "2", "3", "4"]) { desk in
      let object = Hashed()
      let senders: [Any] = [object, wrapped(AnyHashable(object), 1), AnyHashable(object)]
      for (index, (observed, posted)) in [(0, 1), (1, 0), (2, 2), (2, 1)].enumerated() {
        let token = desk.hear(.tick, senders[observed], as: "\(index + 1)")
        desk.post(.tick, senders[posted])
        desk.post(.tick, AnyHashable(Hashed()))
        desk.center.removeObserver(token)
      }
    },
  ]
}
