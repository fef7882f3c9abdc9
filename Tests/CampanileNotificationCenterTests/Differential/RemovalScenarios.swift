import Foundation
import TestSupport

extension Scenario {
  private static let names: [Notification.Name?] = [.tick, .tock, nil]
  private static let objects = ["bell", "other bell", "5", "6", "none"]

  private static func text(_ name: Notification.Name?, _ object: String) -> String {
    "\(name?.rawValue ?? "any") of \(object)"
  }

  /// Which observers remain, of each name and object, where those of a name and an object are removed.
  private static let remaining: [String] = {
    var remaining: [String] = []
    for name in names {
      for object in objects {
        for removed in names {
          let isOther = removed != nil && removed != name
          for about in objects where isOther || about != "none" && about != object {
            remaining.append(text(name, object) + ", without " + text(removed, about))
          }
        }
      }
    }
    return remaining
  }()

  /// Who is removed by what.
  static let removals: [Scenario] = [
    Scenario("an observer is removed by its name, its object, both or neither", remaining) { desk in
      let values: [Any?] = [desk.bell, Bell(), 5, 6, nil]
      for name in names {
        for (object, subject) in zip(objects, values) {
          for removed in names {
            for (about, value) in zip(objects, values) {
              let token = desk.hear(
                name, subject, as: text(name, object) + ", without " + text(removed, about))
              desk.center.removeObserver(token, name: removed, object: value)
              desk.post(name ?? .tick, subject)
              desk.center.removeObserver(token)
            }
          }
        }
      }
    },
    Scenario("removing twice does no harm", ["other"]) { desk in
      let token = desk.hear()
      desk.hear(as: "other")
      for _ in 0..<2 { desk.center.removeObserver(token) }
      desk.post()
    },
    Scenario("what observes nothing removes nobody", ["heard"]) { desk in
      desk.hear(as: "heard")
      for observer in [Bell(), NSObject(), 5, "bell"] as [Any] {
        desk.center.removeObserver(observer)
        desk.center.removeObserver(observer, name: .tick, object: nil)
      }
      desk.post()
    },
    Scenario("a stale token that is removed again removes nobody else", ["other"]) { desk in
      let token = desk.hear()
      desk.center.removeObserver(token)
      desk.hear(as: "other")
      desk.center.removeObserver(token)
      desk.post()
    },
    Scenario("a token given to the wrong center removes nobody there", ["one", "other"]) { desk in
      let other = desk.make()
      let token = desk.hear(as: "one")
      other.add(.tick) { [log = desk.log] _ in log.record("other") }
      other.removeObserver(token)
      desk.post()
      other.post(.tick)
    },
    Scenario("what an observer captured is released as it is removed", ["1", "0"]) { desk in
      let live = LiveCount()
      func add() -> any NSObjectProtocol {
        desk.center.add(.tick) { [tracked = Tracked(live)] _ in tracked.touch() }
      }
      let token = add()
      desk.log.record("\(live.current)")
      desk.center.removeObserver(token)
      desk.log.record("\(live.current)")
    },
    Scenario("what an observer captured is released with its center", ["1", "0"]) { desk in
      let live = LiveCount()
      func add() {
        let center = desk.make()
        center.add(.tick) { [tracked = Tracked(live)] _ in tracked.touch() }
        desk.log.record("\(live.current)")
        withExtendedLifetime(center) {}
      }
      add()
      desk.log.record("\(live.current)")
    },
    Scenario("an observer is added again after its removal", ["again"]) { desk in
      desk.center.removeObserver(desk.hear())
      desk.hear(as: "again")
      desk.post()
    },
  ]
}
