import Foundation
import TestSupport

extension Scenario {
  /// Who is called when, and what an observer may do.
  static let orders: [Scenario] = [
    Scenario("observers are called in the order they were added", (0..<40).map { "\($0)" }) {
      make, log in
      let center = make()
      for index in 0..<40 { center.add(.tick) { _ in log.record("\(index)") } }
      center.post(.tick)
    },
    Scenario("those of all names and objects stand among the others", (0..<40).map { "\($0)" }) {
      make, log in
      let (center, bell) = (make(), Bell())
      for index in 0..<40 {
        center.add(index % 2 == 0 ? .tick : nil, index % 4 < 2 ? bell : nil) { _ in
          log.record("\(index)")
        }
      }
      center.post(.tick, bell)
    },
    Scenario(
      "removals leave the order as it was", (0..<60).filter { $0 % 3 != 0 }.map { "\($0)" }
    ) { make, log in
      let center = make()
      let tokens = (0..<60).map { index in center.add(.tick) { _ in log.record("\(index)") } }
      for index in 0..<60 where index % 3 == 0 { center.removeObserver(tokens[index]) }
      center.post(.tick)
    },
    Scenario("an observer that is removed during a post is not called", ["1"]) { make, log in
      let (center, heard) = (make(), Recorder<Int>())
      let tokens = Kept<[any NSObjectProtocol]>()
      tokens.set(
        (0..<20).map { index in
          center.add(.tick) { [weak center] _ in
            heard.record(index)
            // The first one removes all, itself too.
            tokens.withValue { $0 }?.forEach { center?.removeObserver($0) }
          }
        })
      center.post(.tick)
      log.record("\(heard.count)")
      tokens.set(nil)
    },
    Scenario("an observer that removes itself is called once", ["heard"]) { make, log in
      let center = make()
      let token = Kept<any NSObjectProtocol>()
      token.set(
        center.add(.tick) { [weak center] _ in
          log.record("heard")
          if let own = token.withValue({ $0 }) { center?.removeObserver(own) }
        })
      center.post(.tick)
      center.post(.tick)
      token.set(nil)
    },
    Scenario(
      "an observer that is added during a post hears the next one", ["outer", "outer", "new"]
    ) { make, log in
      let center = make()
      let isFirst = Recorder<Int>()
      center.add(.tick) { [weak center] _ in
        log.record("outer")
        isFirst.record(0)
        if isFirst.count == 1 {
          center?.add(.tock) { _ in log.record("new") }
          center?.add(.tick) { _ in isFirst.record(1) }
        }
      }
      center.post(.tick)
      center.post(.tick)
      center.post(.tock)
    },
    Scenario("a nested post is made at once", ["begin", "inner", "end"]) { make, log in
      let center = make()
      center.add(.tick) { [weak center] _ in
        log.record("begin")
        center?.post(.tock)
        log.record("end")
      }
      center.add(.tock) { _ in log.record("inner") }
      center.post(.tick)
    },
    Scenario("posts nest a hundred deep", ["100"]) { make, log in
      let (center, depth) = (make(), Recorder<Int>())
      center.add(.tick) { [weak center] _ in
        depth.record(1)
        if depth.count < 100 { center?.post(.tick) }
      }
      center.post(.tick)
      log.record("\(depth.count)")
    },
    Scenario("an observer posts to another center", ["one", "other"]) { make, log in
      let (one, other) = (make(), make())
      one.add(.tick) { _ in
        log.record("one")
        other.post(.tick)
      }
      other.add(.tick) { _ in log.record("other") }
      one.post(.tick)
    },
    Scenario("posts of one thread are heard in order", (0..<50).map { "\($0)" }) { make, log in
      let center = make()
      center.add(.tick) { log.record("\($0.number)") }
      for number in 0..<50 {
        center.post(name: .tick, object: nil, userInfo: ["number": number])
      }
    },
    Scenario("posts of many threads are all heard", ["800"]) { make, log in
      let (center, heard) = (make(), Recorder<Int>())
      center.add(.tick) { heard.record($0.number) }
      onThreads(8) { thread in
        for number in 0..<100 {
          center.post(name: .tick, object: nil, userInfo: ["number": thread * 100 + number])
        }
      }
      log.record("\(Set(heard.values).count)")
    },
    Scenario("observers come and go on many threads", ["1"]) { make, log in
      let (center, heard) = (make(), Recorder<Int>())
      onThreads(8) { thread in
        for _ in 0..<100 {
          let token = center.add(Notification.Name("\(thread)")) { _ in }
          center.removeObserver(token)
        }
      }
      center.add(.tick) { heard.record($0.number) }
      center.post(.tick)
      log.record("\(heard.count)")
    },
  ]
}
