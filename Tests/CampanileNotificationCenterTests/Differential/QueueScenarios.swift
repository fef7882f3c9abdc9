import Foundation
import TestSupport
import Testing

extension Scenario {
  /// Who posts, as an operation.
  private static let posters: [(String, @Sendable (OperationQueue) -> OperationQueue)] = [
    ("the main queue", { _ in .main }), ("the observed queue", { $0 }),
    ("another queue", { _ in SerialOperationQueue() }),
  ]

  /// Observers with operation queues.
  static let queues = afterPosts + onQueues

  /// From swift-corelibs-foundation.
  private static let afterPosts = posters.map { name, poster in
    Scenario(
      "blocks have run on their queues, or else on the poster's, after a post on \(name)",
      ["its true", "main true", "poster's true", "returned after 3"]
    ) { desk in
      let (observed, heard) = (SerialOperationQueue(), Recorder<String>())
      let posting = poster(observed)
      for (name, queue) in [("its", observed), ("main", .main), ("poster's", nil)]
        as [(String, OperationQueue?)]
      {
        desk.center.add(.tick, queue: queue) { _ in
          heard.record("\(name) \(OperationQueue.current === queue ?? posting)")
        }
      }
      let returned = DispatchSemaphore(value: 0)
      posting.addOperation { [center = desk.center] in
        center.post(.tick)
        heard.record("returned after \(heard.count)")
        returned.signal()
      }
      returned.waitPatiently()
      for text in heard.values.sorted() { desk.log.record(text) }
    }
  }

  private static let onQueues: [Scenario] = [
    Scenario("observers on one queue run before the post returns", ["1", "2", "after"]) { desk in
      let queue = SerialOperationQueue()
      let heard = Recorder<Int>()
      for _ in 0..<2 {
        desk.center.add(.tick, queue: queue) { [log = desk.log] _ in
          heard.record(0)
          log.record("\(heard.count)")
        }
      }
      desk.post()
      desk.log.record("after")
      withExtendedLifetime(queue) {}
    },
    Scenario("one queue posts to another", ["one", "two", "one again", "after"]) { desk in
      let (one, two) = (SerialOperationQueue(), SerialOperationQueue())
      desk.center.add(.tick, queue: one) { [log = desk.log, weak center = desk.center] _ in
        log.record("one")
        center?.post(.tock)
        log.record("one again")
      }
      desk.hear(.tock, queue: two, as: "two")
      desk.post()
      desk.log.record("after")
      withExtendedLifetime((one, two)) {}
    },
    Scenario("a nested post on the queue is made at once", ["outer", "inner", "outer again"]) {
      desk in
      let queue = SerialOperationQueue()
      desk.center.add(.tick, queue: queue) { [log = desk.log, weak center = desk.center] _ in
        log.record("outer")
        center?.post(.tock)
        log.record("outer again")
      }
      desk.hear(.tock, queue: queue, as: "inner")
      desk.post()
      withExtendedLifetime(queue) {}
    },
    Scenario("a queue's observers filter, and are removed, as others", ["Tick", "bell", "Tock"]) {
      desk in
      let queue = SerialOperationQueue()
      let token = desk.hear(nil, queue: queue)
      desk.post(.tick, Bell())
      desk.center.removeObserver(token)
      let about = desk.hear(.tick, desk.bell, queue: queue, as: "bell")
      desk.post()
      desk.post(.tick, desk.bell)
      desk.center.removeObserver(about)
      desk.hear(nil, queue: queue)
      desk.post(.tock)
      withExtendedLifetime(queue) {}
    },
    Scenario("a wide queue hears the posts of many threads", ["400"]) { desk in
      let (queue, heard) = (OperationQueue(), Recorder<Int>())
      queue.maxConcurrentOperationCount = 4
      desk.center.add(.tick, queue: queue) { heard.record($0.number) }
      onThreads(4) { thread in for number in 0..<100 { desk.post(thread * 100 + number) } }
      withExtendedLifetime(queue) {}
      desk.log.record("\(Set(heard.values).count)")
    },
    Scenario("a queue that nobody else keeps still delivers", ["heard"]) { desk in
      desk.hear(queue: SerialOperationQueue(), as: "heard")
      desk.post()
    },
    Scenario("posts of one thread reach a queue in order", (0..<20).map { "\($0)" }) { desk in
      let queue = SerialOperationQueue()
      desk.center.add(.tick, queue: queue) { [log = desk.log] in log.record("\($0.number)") }
      for number in 0..<20 { desk.post(number) }
      withExtendedLifetime(queue) {}
    },
  ]
}
