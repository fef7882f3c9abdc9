import Foundation
import Testing

/// What the suite `TestNotificationQueue` of swift-corelibs-foundation shows, as facts of both queues.
@Suite("Upstream's facts of a notification queue", .ownThread)
struct UpstreamQueueTests {
  private func posted(
    _ side: Side, _ run: @escaping @Sendable (QueueFace) -> Void
  ) -> [String] {
    QueuedScenario("", [], run).heard(side.makeQueue)
  }

  @Test(
    "Each thread has a default queue, which posts to the default center",
    arguments: Side.allCases)
  func defaultQueue(side: Side) {
    let heard = posted(side) { face in
      let queues = (0..<2).map { _ in side.defaultQueue(face.log) }
      face.mark("\(queues[0].queue === queues[1].queue)")
      let (center, own) = (queues[0].center, ObjectIdentifier(queues[0].queue))
      onThread(patiently: true) { [log = face.log] in
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
    #expect(heard == ["true", "false", "1", "2", "3"])
  }

  @Test(
    "What is posted now is heard before `enqueue` returns, and never coalesces",
    arguments: Side.allCases)
  func now(side: Side) {
    let heard = posted(side) { face in
      face.listen()
      let bell = NSObject()
      for number in 1...3 { face.enqueue(number, .now, [.onName, .onSender], about: bell) }
      face.mark("returned")
    }
    #expect(heard == ["1", "2", "3", "returned"])
  }

  @Test(
    "In a run of the run loop, what is posted now is heard if the mode of the run is named",
    arguments: Side.allCases)
  func nowInModes(side: Side) {
    let heard = posted(side) { face in
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
    }
    #expect(heard == ["1", "2", "5"])
  }

  @Test(
    "What is posted later is heard once the run loop runs, the last of those that coalesce",
    arguments: Side.allCases, [QueueFace.Style.asap, .whenIdle])
  func later(side: Side, style: QueueFace.Style) {
    let heard = posted(side) { face in
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
    #expect(heard == ["returned", "3"])
  }

  @Test(
    "What coalesces by name or by object takes the place of all that has the one or the other",
    arguments: Side.allCases)
  func nameOrObject(side: Side) {
    let heard = posted(side) { face in
      face.listen()
      let (one, other) = (NSObject(), NSObject())
      face.enqueue(1, .asap, .onName, about: one)
      face.enqueue(2, .asap, .onSender, about: other)
      face.enqueue(3, .asap, .onName, about: one)
      face.enqueue(4, .asap, .onName, about: other)
      face.enqueue(5, .asap, .onSender, about: one)
      face.turn()
    }
    #expect(heard.sorted() == ["4", "5"])
  }

  #if canImport(Glibc)
    @Test("A queue ends with its thread", arguments: Side.allCases)
    func ended(side: Side) {
      let live = LiveCount()
      onEndedThreads {
        let face = side.makeQueue(Recorder())
        face.center.add(.tick) { [tracked = Tracked(live)] _ in tracked.touch() }
        face.enqueue(1, .now)
      }
      #expect(live.current == 0)
    }
  #endif
}
