import Foundation
import TestSupport

extension Scenario {
  private static let names: [(String, Notification.Name?)] = [
    ("Tick", .tick), ("Tock", .tock), ("any", nil),
  ]
  private static let objects = ["bell", "other bell", "object", "other object", "5", "none"]

  /// What an observer of each name and object hears of posts of each name, about each object.
  private static let heardOfEach: [String] = {
    var heard: [String] = []
    for (name, _) in names {
      for object in objects {
        for posted in ["Tick", "Tock"] where name == "any" || name == posted {
          for about in objects where object == "none" || object == about {
            heard.append("\(name) of \(object): \(posted) of \(about)")
          }
        }
      }
    }
    return heard
  }()

  /// Who hears what.
  static let deliveries: [Scenario] = [
    Scenario("who names no name or no object hears of all, and others of theirs", heardOfEach) {
      desk in
      let values: [Any?] = [desk.bell, Bell(), NSObject(), NSObject(), 5, nil]
      for (name, observed) in names {
        for (object, subject) in zip(objects, values) {
          let token = desk.center.add(observed, subject) { [log = desk.log] in
            let about = $0.userInfo?["about"] ?? "nothing"
            log.record("\(name) of \(object): \($0.name.rawValue) of \(about)")
          }
          for posted in [Notification.Name.tick, .tock] {
            for (about, value) in zip(objects, values) {
              desk.center.post(name: posted, object: value, userInfo: ["about": about])
            }
          }
          desk.center.removeObserver(token)
        }
      }
    },
    Scenario("a string is an object", (0..<40).map { "\($0)" }) { desk in
      for index in 0..<40 { desk.hear(.tick, "bell \(index)", as: "\(index)") }
      for index in 0..<40 { desk.post(.tick, "bell \(index)") }
    },
    Scenario("a value that cannot be compared is no object", []) { desk in
      struct Plain { var number = 1 }
      for _ in 0..<200 { desk.hear(.tick, Plain()) }
      for _ in 0..<2_000 where desk.log.count == 0 { desk.post(.tick, Plain()) }
    },
    Scenario("a value is heard without an object", ["5", "bell"]) { desk in
      desk.center.add(.tick) { [log = desk.log] in log.record("\($0.object ?? "none")") }
      desk.post(.tick, 5)
      desk.post(.tick, "bell")
    },
    Scenario("a notification is posted as its parts are", ["7 true", "7 true", "none false"]) {
      desk in
      desk.center.add(.tick) { [log = desk.log, bell = desk.bell] in
        log.record("\($0.userInfo?["number"] ?? "none") \($0.object as? Bell === bell)")
      }
      desk.center.post(name: .tick, object: desk.bell, userInfo: ["number": 7])
      desk.center.post(Notification(name: .tick, object: desk.bell, userInfo: ["number": 7]))
      desk.post()
    },
    Scenario("a block that is added twice is called twice", ["heard", "heard"]) { desk in
      let block: @Sendable (Notification) -> Void = { [log = desk.log] _ in log.record("heard") }
      for _ in 0..<2 { desk.center.add(.tick, nil, block) }
      desk.post()
    },
    Scenario("centers are apart", ["one"]) { desk in
      let other = desk.make()
      desk.hear(as: "one")
      other.add(.tick) { [log = desk.log] _ in log.record("other") }
      desk.post()
    },
    Scenario("a token that is dropped keeps its observer", ["heard"]) { desk in
      _ = desk.hear(as: "heard")
      desk.post()
    },
    Scenario("the block runs on the thread that posts, before the post returns", ["true", "after"])
    {
      desk in
      let thread = ObjectIdentifier(Thread.current)
      desk.center.add(.tick) { [log = desk.log] _ in
        log.record("\(ObjectIdentifier(Thread.current) == thread)")
      }
      desk.post()
      desk.log.record("after")
    },
    Scenario("names are compared by their text", ["heard"]) { desk in
      desk.hear(Notification.Name("Ti" + "ck"), as: "heard")
      desk.post(Notification.Name(rawValue: "Tick"))
    },
    Scenario("an object is kept neither by its observer nor after its post", ["0", "1", "0"]) {
      desk in
      let live = LiveCount()
      func add() { desk.hear(.tick, Tracked(live)) }
      add()
      desk.log.record("\(live.current)")
      desk.center.add(.tock) { [log = desk.log] _ in log.record("\(live.current)") }
      desk.post(.tock, Tracked(live))
      desk.log.record("\(live.current)")
    },
    Scenario("an observer of an object that has died hears nothing", []) { desk in
      func add() { for _ in 0..<200 { desk.hear(.tick, Bell()) } }
      add()
      for _ in 0..<2_000 where desk.log.count == 0 { desk.post(.tick, Bell()) }
    },
    Scenario("an observer of all names and an object that has died hears nothing", []) { desk in
      func add() { for _ in 0..<200 { desk.hear(nil, Bell()) } }
      add()
      for _ in 0..<2_000 where desk.log.count == 0 { desk.post(.tick, Bell()) }
    },
  ]
}
