import Foundation
import TestSupport

extension QueuedScenario {
  static let all: [QueuedScenario] = [
    QueuedScenario("now is before enqueue returns", ["1", "after"]) { face in
      face.listen()
      face.enqueue(1, .now)
      face.mark("after")
    },
    QueuedScenario("now is never coalesced", ["1", "2", "3"]) { face in
      face.listen()
      for number in 1...3 { face.enqueue(number, .now, [.onName, .onSender]) }
    },
    QueuedScenario("now takes back what waits", ["2"]) { face in
      face.listen()
      face.enqueue(1, .asap)
      face.enqueue(2, .now, .onName)
      face.turn()
    },
    QueuedScenario("asap is after enqueue returned, when the run loop runs", ["after", "1"]) {
      face in
      face.listen()
      face.enqueue(1, .asap)
      face.mark("after")
      face.turn()
    },
    QueuedScenario("idle is after enqueue returned, when the run loop runs", ["after", "1"]) {
      face in
      face.listen()
      face.enqueue(1, .whenIdle)
      face.mark("after")
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
    QueuedScenario("the plain form coalesces by both", ["2"]) { face in
      face.listen()
      for number in 1...2 {
        face.enqueuePlain(Notification(name: .tick, userInfo: ["number": number]), .asap)
      }
      face.turn()
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
      RunLoop.current.add(
        Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }, forMode: mode)
      face.listen()
      face.enqueue(1, .asap, modes: [mode, RunLoop.Mode("Other")])
      face.mark("default")
      face.turn()
      // Foundation's sources are in the default and the common modes alone.
      face.turn(mode)
    },
    QueuedScenario("now is posted in its modes alone", ["2"]) { face in
      face.listen()
      let queue = Kept<QueueFace>(face.makeQueue())
      RunLoop.current.perform(inModes: [.default]) {
        queue.withValue {
          $0?.enqueue(1, .now, modes: [RunLoop.Mode("Other")])
          $0?.enqueue(2, .now, modes: [RunLoop.Mode("Other"), .default])
        }
      }
      face.turn()
      queue.set(nil)
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
    QueuedScenario("nothing is posted twice", ["1"]) { face in
      face.listen()
      face.enqueue(1, .asap)
      face.turn()
      face.turn()
    },
    QueuedScenario("a thread has one default queue", ["true"]) { face in
      face.mark("\(face.isOnePerThread())")
    },
  ]
}
