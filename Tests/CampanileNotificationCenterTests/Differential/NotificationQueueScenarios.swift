import Foundation
import TestSupport
import Testing

extension QueuedScenario {
  static let all = own + upstream + defaultQueues

  private static let own: [QueuedScenario] = [
    QueuedScenario("now takes back what waits", ["2"]) { face in
      face.listen()
      face.enqueue(1, .asap)
      face.enqueue(2, .now, .onName)
      face.turn()
    },
    QueuedScenario("asap keeps the order", ["1", "2", "3"]) { face in
      face.listen()
      for number in 1...3 { face.enqueue(number, .asap) }
      face.turn()
    },
    QueuedScenario("idle keeps the order", ["1", "2", "3"]) { face in
      face.listen()
      for number in 1...3 { face.enqueue(number, .whenIdle) }
      face.turn()
    },
    QueuedScenario("asap comes before idle", ["2", "1"]) { face in
      face.listen()
      face.enqueue(1, .whenIdle)
      face.enqueue(2, .asap)
      face.turn()
    },
    QueuedScenario("what coalesces by name is posted once, the last", ["3"]) { face in
      face.listen()
      for number in 1...3 { face.enqueue(number, .asap, .onName, of: .tick, about: Bell()) }
      face.turn()
    },
    QueuedScenario("what coalesces by object is posted once, the last", ["3"]) { face in
      face.listen()
      let bell = NSObject()
      face.enqueue(1, .asap, .onSender, of: .tick, about: bell)
      face.enqueue(2, .asap, .onSender, of: .tock, about: bell)
      face.enqueue(3, .asap, .onSender, of: .tick, about: bell)
      face.turn()
    },
    QueuedScenario("an object of a Swift class coalesces too", ["3"]) { face in
      face.listen()
      let bell = Bell()
      for number in 1...3 { face.enqueue(number, .asap, .onSender, about: bell) }
      face.turn()
    },
    QueuedScenario("what coalesces by both is compared by both", ["1", "2"]) { face in
      let heard = Recorder<Int>()
      face.center.add(nil) { heard.record($0.number) }
      let bell = NSObject()
      face.enqueue(0, .whenIdle, [.onName, .onSender], of: .tick, about: bell)
      face.enqueue(1, .whenIdle, [.onName, .onSender], of: .tock, about: bell)
      face.enqueue(2, .asap, [.onName, .onSender], of: .tick, about: bell)
      face.turn()
      for number in heard.values.sorted() { face.mark("\(number)") }
    },
    QueuedScenario("another name is not coalesced by name", ["2"]) { face in
      face.center.add(.tock) { [log = face.log] in log.record("\($0.number)") }
      face.enqueue(1, .asap, .onName, of: .tick, about: nil)
      face.enqueue(2, .asap, .onName, of: .tock, about: nil)
      face.turn()
    },
    QueuedScenario("without an object, no object is the same", ["2"]) { face in
      face.listen()
      for number in 1...2 { face.enqueue(number, .asap, .onSender) }
      face.turn()
    },
    QueuedScenario("coalescing goes across the styles", ["2"]) { face in
      face.listen()
      face.enqueue(1, .whenIdle)
      face.enqueue(2, .asap, .onName)
      face.turn()
    },
    QueuedScenario("what is dequeued is not posted", []) { face in
      face.listen()
      face.enqueue(1, .asap)
      face.enqueue(2, .whenIdle)
      face.dequeue(.tick, nil, .onName)
      face.turn()
    },
    QueuedScenario("what does not match is not dequeued", ["1"]) { face in
      face.listen()
      face.enqueue(1, .asap)
      face.dequeue(.tock, nil, .onName)
      face.dequeue(.tick, Bell(), [.onName, .onSender])
      face.dequeue(.tick, nil, [])
      face.turn()
    },
    QueuedScenario("asap waits for its mode", ["default", "1"]) { face in
      let mode = RunLoop.Mode("CampanileTests")
      face.addSource(for: mode)
      face.listen()
      face.enqueue(1, .asap, modes: [mode, RunLoop.Mode("Other")])
      face.mark("default")
      face.turn()
      // Foundation's sources are in the default and the common modes alone.
      face.turn(mode)
    },
    QueuedScenario("for no mode at all nothing is posted", []) { face in
      face.listen()
      face.enqueue(1, .asap, modes: [])
      face.enqueue(2, .whenIdle, modes: [])
      face.turn()
    },
    QueuedScenario("two queues of one thread are apart", ["1", "2"]) { face in
      face.listen()
      let other = face.makeQueue()
      face.enqueue(1, .asap, .onName)
      other.enqueue(2, .asap, .onName)
      face.turn()
    },
    QueuedScenario("a queue that is released posts what waits", ["1"]) { face in
      face.listen()
      face.makeQueue().enqueue(1, .asap)
      face.turn()
    },
    QueuedScenario("the common modes and the default mode keep one order", ["1", "2", "3"]) {
      face in
      face.listen()
      for (number, mode) in zip(1...3, [RunLoop.Mode.default, .common, .default]) {
        face.enqueue(number, .asap, modes: [mode])
      }
      face.turn()
    },
    QueuedScenario("nothing is idle while one for the common modes is due", ["2", "1"]) { face in
      face.listen()
      face.enqueue(1, .whenIdle)
      face.enqueue(2, .asap, modes: [.common])
      face.turn()
    },
  ]

  /// What the suite `TestNotificationQueue` of swift-corelibs-foundation shows.
  private static let upstream: [QueuedScenario] = [
    QueuedScenario(
      "what is posted now is heard before `enqueue` returns, and never coalesces",
      ["1", "2", "3", "returned"]
    ) { face in
      face.listen()
      let bell = NSObject()
      for number in 1...3 { face.enqueue(number, .now, [.onName, .onSender], about: bell) }
      face.mark("returned")
    },
    QueuedScenario(
      "in a run, what is posted now is heard if the mode of the run is named", ["1", "2", "5"]
    ) { face in
      face.listen()
      let queue = Kept<QueueFace>(face.makeQueue())
      RunLoop.current.perform(inModes: [.default]) {
        queue.withValue {
          $0?.enqueue(1, .now, modes: [RunLoop.current.currentMode ?? .common])
          $0?.enqueue(2, .now)
          // The common modes are a set of modes, and no run is in them.
          $0?.enqueue(3, .now, modes: [.common])
          $0?.enqueue(4, .now, modes: [RunLoop.Mode("Other")])
          $0?.enqueue(5, .now, modes: [RunLoop.Mode("Other"), .default])
        }
      }
      face.turn()
      queue.set(nil)
    },
    later("asap", .asap), later("idle", .whenIdle),
    QueuedScenario(
      "what coalesces by name or by object takes the place of all that has the one or the other",
      ["4", "5"]
    ) { face in
      let heard = Recorder<Int>()
      face.center.add(nil) { heard.record($0.number) }
      let (one, other) = (NSObject(), NSObject())
      face.enqueue(1, .asap, .onName, about: one)
      face.enqueue(2, .asap, .onSender, about: other)
      face.enqueue(3, .asap, .onName, about: one)
      face.enqueue(4, .asap, .onName, about: other)
      face.enqueue(5, .asap, .onSender, about: one)
      face.turn()
      for number in heard.values.sorted() { face.mark("\(number)") }
    },
  ]

  #if TSAN
    // Foundation releases the default queue of a thread that ends when Thread Sanitizer has forgotten the
    // thread already, and crashes.
    private static let defaultQueues: [QueuedScenario] = []
  #else
    private static let defaultQueues = [
      QueuedScenario(
        "each thread has a default queue, which posts to the default center",
        ["true", "false", "1", "2", "3"]
      ) { face in
        let queues = (0..<2).map { _ in face.side.defaultQueue(face.log) }
        face.mark("\(queues[0].queue === queues[1].queue)")
        let (center, own) = (queues[0].center, ObjectIdentifier(queues[0].queue))
        onThread(patiently: true) { [log = face.log, side = face.side] in
          log.record("\(ObjectIdentifier(side.defaultQueue(log).queue) == own)")
        }()
        let bell = NSObject()
        let token = center.add(nil, bell) { [log = face.log] in log.record("\($0.number)") }
        queues[0].enqueue(1, .now, about: bell)
        queues[0].enqueue(2, .asap, about: bell)
        face.turn()
        queues[0].enqueue(3, .whenIdle, about: bell)
        face.turn()
        center.removeObserver(token)
        withExtendedLifetime(queues) {}
      }
    ]
  #endif

  private static func later(_ name: String, _ style: QueueFace.Style) -> QueuedScenario {
    QueuedScenario(
      "\(name) is heard once the run loop runs, the last of those that coalesce",
      ["returned", "3"]
    ) { face in
      face.listen()
      let bell = NSObject()
      for number in 1...3 {
        face.enqueuePlain(
          Notification(name: .tick, object: bell, userInfo: ["number": number]), style)
      }
      face.mark("returned")
      face.turn()
      face.turn()
    }
  }
}
