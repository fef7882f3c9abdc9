import Foundation
import TestSupport

extension Scenario {
  /// Who is called when, and what an observer may do.
  static let orders: [Scenario] = [
    Scenario("observers are called in the order they were added", (0..<40).map { "\($0)" }) {
      desk in
      for index in 0..<40 { desk.hear(as: "\(index)") }
      desk.post()
    },
    Scenario("those of all names and objects stand among the others", (0..<40).map { "\($0)" }) {
      desk in
      for index in 0..<40 {
        desk.hear(index % 2 == 0 ? .tick : nil, index % 4 < 2 ? desk.bell : nil, as: "\(index)")
      }
      desk.post(.tick, desk.bell)
    },
    Scenario(
      "removals leave the order as it was", (0..<60).filter { $0 % 3 != 0 }.map { "\($0)" }
    ) { desk in
      let tokens = (0..<60).map { desk.hear(as: "\($0)") }
      for index in 0..<60 where index % 3 == 0 { desk.center.removeObserver(tokens[index]) }
      desk.post()
    },
    Scenario("an observer that is removed during a post is not called", ["1"]) { desk in
      let heard = Recorder<Int>()
      let tokens = Kept<[any NSObjectProtocol]>()
      tokens.set(
        (0..<20).map { index in
          desk.center.add(.tick) { [weak center = desk.center] _ in
            heard.record(index)
            // The first one removes all, itself too.
            tokens.withValue { $0 }?.forEach { center?.removeObserver($0) }
          }
        })
      desk.post()
      desk.log.record("\(heard.count)")
      tokens.set(nil)
    },
    Scenario("an observer that removes itself is called once", ["heard"]) { desk in
      let token = Kept<any NSObjectProtocol>()
      token.set(
        desk.center.add(.tick) { [log = desk.log, weak center = desk.center] _ in
          log.record("heard")
          if let own = token.withValue({ $0 }) { center?.removeObserver(own) }
        })
      for _ in 0..<2 { desk.post() }
      token.set(nil)
    },
    Scenario(
      "an observer that is added during a post hears the next one", ["outer", "outer", "new"]
    ) { desk in
      let posts = Recorder<Int>()
      desk.center.add(.tick) { [log = desk.log, weak center = desk.center] _ in
        log.record("outer")
        posts.record(0)
        if posts.count == 1 {
          center?.add(.tock) { _ in log.record("new") }
          center?.add(.tick) { _ in posts.record(1) }
        }
      }
      for name in [Notification.Name.tick, .tick, .tock] { desk.post(name) }
    },
    Scenario("a nested post is made at once, a hundred deep", ["100 in", "100 out"]) { desk in
      let (begun, ended) = (Recorder<Int>(), Recorder<Int>())
      desk.center.add(.tick) { [weak center = desk.center] _ in
        begun.record(begun.count)
        if begun.count < 100 { center?.post(.tick) }
        ended.record(100 - ended.count)
      }
      desk.post()
      desk.log.record("\(begun.count) in")
      desk.log.record("\(ended.count) out")
    },
    Scenario("an observer posts to another center", ["one", "other"]) { desk in
      let other = desk.make()
      desk.center.add(.tick) { [log = desk.log] _ in
        log.record("one")
        other.post(.tick)
      }
      other.add(.tick) { [log = desk.log] _ in log.record("other") }
      desk.post()
    },
    Scenario("posts of one thread are heard in order", (0..<50).map { "\($0)" }) { desk in
      desk.center.add(.tick) { [log = desk.log] in log.record("\($0.number)") }
      for number in 0..<50 { desk.post(number) }
    },
    Scenario("posts of many threads are heard, while observers come and go", ["800"]) { desk in
      let heard = Recorder<Int>()
      desk.center.add(.tick) { heard.record($0.number) }
      onThreads(8) { thread in
        for number in 0..<100 {
          let token = desk.center.add(Notification.Name("\(thread)")) { _ in }
          desk.post(thread * 100 + number)
          desk.center.removeObserver(token)
        }
      }
      desk.log.record("\(Set(heard.values).count)")
    },
  ]
}
