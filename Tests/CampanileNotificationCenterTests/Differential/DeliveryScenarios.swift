import Foundation
import TestSupport

extension Scenario {
  /// Who hears what.
  static let deliveries: [Scenario] = [
    Scenario("a name is heard", ["Tick"]) { make, log in
      let center = make()
      center.add(.tick) { log.record($0.name.rawValue) }
      center.post(.tick)
    },
    Scenario("another name is not heard", []) { make, log in
      let center = make()
      center.add(.tick) { log.record($0.name.rawValue) }
      center.post(.tock)
    },
    Scenario("no name is every name", ["Tick", "Tock"]) { make, log in
      let center = make()
      center.add(nil) { log.record($0.name.rawValue) }
      center.post(.tick)
      center.post(.tock)
    },
    Scenario("an object is heard", ["Tick"]) { make, log in
      let (center, bell) = (make(), Bell())
      center.add(.tick, bell) { log.record($0.name.rawValue) }
      center.post(.tick, bell)
    },
    Scenario("another object is not heard", []) { make, log in
      let (center, bell) = (make(), Bell())
      center.add(.tick, bell) { log.record($0.name.rawValue) }
      center.post(.tick, Bell())
      withExtendedLifetime(bell) {}
    },
    Scenario("no object is not the object", []) { make, log in
      let (center, bell) = (make(), Bell())
      center.add(.tick, bell) { log.record($0.name.rawValue) }
      center.post(.tick)
      withExtendedLifetime(bell) {}
    },
    Scenario("without an object every object is heard", ["1", "2"]) { make, log in
      let center = make()
      center.add(.tick) { _ in log.record("\(log.count + 1)") }
      center.post(.tick, Bell())
      center.post(.tick)
    },
    Scenario("an object is heard under every name", ["Tick", "Tock"]) { make, log in
      let (center, bell) = (make(), Bell())
      center.add(nil, bell) { log.record($0.name.rawValue) }
      center.post(.tick, bell)
      center.post(.tock, bell)
      center.post(.tock, Bell())
      center.post(.tock)
      withExtendedLifetime(bell) {}
    },
    Scenario("neither name nor object is everything", ["Tick", "Tock", "Tick"]) { make, log in
      let center = make()
      center.add(nil) { log.record($0.name.rawValue) }
      center.post(.tick, Bell())
      center.post(.tock)
      center.post(.tick)
    },
    Scenario("an equal object that is another one is not heard", []) { make, log in
      let center = make()
      let (one, other) = (NSObject(), NSObject())
      center.add(.tick, one) { _ in log.record("heard") }
      center.post(.tick, other)
      withExtendedLifetime(one) {}
    },
    Scenario("an NSObject is heard", ["heard"]) { make, log in
      let (center, object) = (make(), NSObject())
      center.add(.tick, object) { _ in log.record("heard") }
      center.post(.tick, object)
    },
    Scenario("a small number is an object", ["5"]) { make, log in
      let center = make()
      center.add(.tick, 5) { _ in log.record("5") }
      center.add(.tick, 6) { _ in log.record("6") }
      center.post(.tick, 5)
    },
    Scenario("a string is an object", (0..<40).map { "\($0)" }) { make, log in
      let center = make()
      for index in 0..<40 { center.add(.tick, "bell \(index)") { _ in log.record("\(index)") } }
      for index in 0..<40 { center.post(.tick, "bell \(index)") }
    },
    Scenario("a value that cannot be compared is no object", []) { make, log in
      struct Plain { var number = 1 }
      let center = make()
      for _ in 0..<200 { center.add(.tick, Plain()) { _ in log.record("heard") } }
      for _ in 0..<2_000 where log.count == 0 { center.post(.tick, Plain()) }
    },
    Scenario("a value is heard without an object", ["5", "bell"]) { make, log in
      let center = make()
      center.add(.tick) { log.record("\($0.object ?? "none")") }
      center.post(.tick, 5)
      center.post(.tick, "bell")
    },
    Scenario("user info goes through", ["7"]) { make, log in
      let center = make()
      center.add(.tick) { log.record("\($0.number)") }
      center.post(name: .tick, object: nil, userInfo: ["number": 7])
    },
    Scenario("no user info is none", ["true"]) { make, log in
      let center = make()
      center.add(.tick) { log.record("\($0.userInfo == nil)") }
      center.post(.tick)
    },
    Scenario("the object goes through", ["true"]) { make, log in
      let (center, bell) = (make(), Bell())
      center.add(.tick) { log.record("\($0.object as? Bell === bell)") }
      center.post(.tick, bell)
    },
    Scenario("a notification is posted as its parts are", ["7 true"]) { make, log in
      let (center, bell) = (make(), Bell())
      center.add(.tick, bell) { log.record("\($0.number) \($0.object as? Bell === bell)") }
      center.post(Notification(name: .tick, object: bell, userInfo: ["number": 7]))
    },
    Scenario("a block that is added twice is called twice", ["heard", "heard"]) { make, log in
      let center = make()
      let block: @Sendable (Notification) -> Void = { _ in log.record("heard") }
      center.add(.tick, nil, block)
      center.add(.tick, nil, block)
      center.post(.tick)
    },
    Scenario("nobody is called where nobody observes", ["tock"]) { make, log in
      let (center, bell) = (make(), Bell())
      center.add(.tock) { _ in log.record("tock") }
      center.add(.tick, bell) { _ in log.record("bell") }
      center.post(.tick)
      center.post(.tock)
      withExtendedLifetime(bell) {}
    },
    Scenario("centers are apart", ["one"]) { make, log in
      let (one, other) = (make(), make())
      one.add(.tick) { _ in log.record("one") }
      other.add(.tick) { _ in log.record("other") }
      one.post(.tick)
    },
    Scenario("a token that is dropped keeps its observer", ["heard"]) { make, log in
      let center = make()
      _ = center.add(.tick) { _ in log.record("heard") }
      center.post(.tick)
    },
    Scenario("the block runs on the thread that posts, before the post returns", ["true", "after"])
    {
      make, log in
      let center = make()
      let thread = ObjectIdentifier(Thread.current)
      center.add(.tick) { _ in log.record("\(ObjectIdentifier(Thread.current) == thread)") }
      center.post(.tick)
      log.record("after")
    },
    Scenario("names are compared by their text", ["heard"]) { make, log in
      let center = make()
      center.add(Notification.Name("Ti" + "ck")) { _ in log.record("heard") }
      center.post(Notification.Name(rawValue: "Tick"))
    },
    Scenario("an object is not kept by its observer", ["0"]) { make, log in
      let (center, live) = (make(), LiveCount())
      func add() {
        let object = Tracked(live)
        center.add(.tick, object) { _ in log.record("heard") }
      }
      add()
      log.record("\(live.current)")
    },
    Scenario("an object is not kept after its post", ["1", "0"]) { make, log in
      let (center, live) = (make(), LiveCount())
      center.add(.tick) { _ in log.record("\(live.current)") }
      center.post(.tick, Tracked(live))
      log.record("\(live.current)")
    },
    Scenario("an observer of an object that has died hears nothing", []) { make, log in
      let center = make()
      func add() {
        for _ in 0..<200 { center.add(.tick, Bell()) { _ in log.record("heard") } }
      }
      add()
      for _ in 0..<2_000 where log.count == 0 { center.post(.tick, Bell()) }
    },
    Scenario("an observer of all names and an object that has died hears nothing", []) {
      make, log in
      let center = make()
      func add() {
        for _ in 0..<200 { center.add(nil, Bell()) { _ in log.record("heard") } }
      }
      add()
      for _ in 0..<2_000 where log.count == 0 { center.post(.tick, Bell()) }
    },
  ]
}
