import Foundation
import TestSupport
import Testing

extension Scenario {
  private static func makeQueue(_ width: Int = 1) -> OperationQueue {
    if width == 1 { return SerialOperationQueue() }
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = width
    return queue
  }

  /// Observers with operation queues.
  static let queues: [Scenario] = [
    Scenario("a queue's observer runs on the queue", ["true"]) { make, log in
      let (center, queue) = (make(), makeQueue())
      center.add(.tick, queue: queue) { _ in log.record("\(OperationQueue.current === queue)") }
      center.post(.tick)
    },
    Scenario("a queue's observer runs before the post returns", ["heard", "after"]) { make, log in
      let (center, queue) = (make(), makeQueue())
      center.add(.tick, queue: queue) { _ in log.record("heard") }
      center.post(.tick)
      log.record("after")
    },
    Scenario("who posts on the queue is called back at once", ["heard", "after"]) { make, log in
      let (center, queue) = (make(), makeQueue())
      center.add(.tick, queue: queue) { _ in log.record("heard") }
      queue.addOperation {
        center.post(.tick)
        log.record("after")
      }
      queue.waitUntilAllOperationsAreFinished()
    },
    Scenario("without a queue the observer runs on the poster's", ["true"]) { make, log in
      let (center, queue) = (make(), makeQueue())
      center.add(.tick) { _ in log.record("\(OperationQueue.current === queue)") }
      queue.addOperation { center.post(.tick) }
      queue.waitUntilAllOperationsAreFinished()
    },
    Scenario(
      "an observer on the main queue runs there, before the post returns", ["true", "after"]
    ) { make, log in
      let center = make()
      center.add(.tick, queue: .main) { _ in
        log.record("\(OperationQueue.current === OperationQueue.main)")
      }
      onThread(patiently: true) {
        center.post(.tick)
        log.record("after")
      }()
    },
    Scenario("two observers on one queue run before the post returns", ["heard", "heard", "after"])
    {
      make, log in
      let (center, queue) = (make(), makeQueue())
      for _ in 0..<2 { center.add(.tick, queue: queue) { _ in log.record("heard") } }
      center.post(.tick)
      log.record("after")
    },
    Scenario("one queue posts to another", ["one", "two", "one again", "after"]) { make, log in
      let (center, one, two) = (make(), makeQueue(), makeQueue())
      center.add(.tick, queue: one) { [weak center] _ in
        log.record("one")
        center?.post(.tock)
        log.record("one again")
      }
      center.add(.tock, queue: two) { _ in log.record("two") }
      center.post(.tick)
      log.record("after")
    },
    Scenario("a nested post on the queue is made at once", ["outer", "inner", "outer again"]) {
      make, log in
      let (center, queue) = (make(), makeQueue())
      center.add(.tick, queue: queue) { [weak center] _ in
        log.record("outer")
        center?.post(.tock)
        log.record("outer again")
      }
      center.add(.tock, queue: queue) { _ in log.record("inner") }
      center.post(.tick)
    },
    Scenario("a removed observer of a queue is silent", []) { make, log in
      let (center, queue) = (make(), makeQueue())
      let token = center.add(.tick, queue: queue) { _ in log.record("heard") }
      center.removeObserver(token)
      center.post(.tick)
    },
    Scenario("a queue's observer filters by object", ["heard"]) { make, log in
      let (center, queue, bell) = (make(), makeQueue(), Bell())
      center.add(.tick, bell, queue: queue) { _ in log.record("heard") }
      center.post(.tick, Bell())
      center.post(.tick, bell)
      center.post(.tick)
    },
    Scenario("a queue's observer hears all names", ["Tick", "Tock"]) { make, log in
      let (center, queue) = (make(), makeQueue())
      center.add(nil, queue: queue) { log.record($0.name.rawValue) }
      center.post(.tick)
      center.post(.tock)
    },
    Scenario("a wide queue hears the posts of many threads", ["400"]) { make, log in
      let (center, queue, heard) = (make(), makeQueue(4), Recorder<Int>())
      center.add(.tick, queue: queue) { heard.record($0.number) }
      onThreads(4) { thread in
        for number in 0..<100 {
          center.post(name: .tick, object: nil, userInfo: ["number": thread * 100 + number])
        }
      }
      log.record("\(Set(heard.values).count)")
    },
    Scenario("a queue that nobody else keeps still delivers", ["heard"]) { make, log in
      let center = make()
      center.add(.tick, queue: makeQueue()) { _ in log.record("heard") }
      center.post(.tick)
    },
    Scenario("posts of one thread reach a queue in order", (0..<20).map { "\($0)" }) { make, log in
      let (center, queue) = (make(), makeQueue())
      center.add(.tick, queue: queue) { log.record("\($0.number)") }
      for number in 0..<20 {
        center.post(name: .tick, object: nil, userInfo: ["number": number])
      }
    },
  ]
}
