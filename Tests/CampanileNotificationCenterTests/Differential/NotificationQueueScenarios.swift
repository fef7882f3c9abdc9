import Foundation
import TestSupport

extension QueuedScenario {
  static let all: [QueuedScenario] = [
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
}
