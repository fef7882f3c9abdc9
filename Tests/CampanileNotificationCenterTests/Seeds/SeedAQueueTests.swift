import Campanile
import CampanileFoundation
import Foundation
import Testing

@testable import CampanileNotificationCenter

/// `RELIABILITY.md` explains the letters and numbers of the tests' names.
@Suite("Seeds A: Foundation's notification queue and ours, and removal", .ownThread)
struct SeedAQueueTests {
  typealias Theirs = Foundation.NotificationCenter
  typealias Ours = CampanileNotificationCenter.NotificationCenter

  #if os(Linux)
    @Test("A10 Foundation: what is enqueued from a delivery stops the program")
    func a10Foundation() async {
      await #expect(processExitsWith: .failure) {
        _ = QueuedScenario("", []) { $0.enqueueFromDelivery() }.heard(.foundation)
      }
    }
  #endif

  @Test("A10 ours: what is enqueued from a delivery comes in a later turn, in order")
  func a10() {
    let heard = QueuedScenario.ours { $0.enqueueFromDelivery() }
    #expect(heard == ["1", "2", "3", "10", "20", "30"])
  }

  @Test(
    "A10 ours: a turn ends although an observer enqueues, and others have theirs before the next")
  func a10Turns() {
    let heard = QueuedScenario.ours { face in
      let queue = Kept<QueueFace>(face.makeQueue())
      face.center.add(nil) { [log = face.log] notification in
        log.record("\(notification.number)")
        guard notification.number < 10 else { return }
        Delivery.runLoop(.current, modes: [.default]).perform { log.record("other") }
        queue.withValue { $0?.enqueue(notification.number * 10, .asap) }
      }
      for number in 1...2 { queue.withValue { $0?.enqueue(number, .asap) } }
      face.turn()
      face.turn()
      queue.set(nil)
    }
    #expect(heard == ["1", "2", "other", "10", "20", "other"])
  }

  @Test("ours: a turn posts what is for its mode, and is idle whatever waits for another one")
  func modes() {
    let heard = QueuedScenario.ours { face in
      let (one, other) = (RunLoop.Mode("CampanileTests.One"), RunLoop.Mode("CampanileTests.Other"))
      for mode in [one, other] { face.addSource(for: mode) }
      face.listen()
      face.enqueue(1, .asap, modes: [one])
      face.enqueue(2, .whenIdle, modes: [other])
      face.enqueue(3, .asap, modes: [other])
      face.turn(other)
      face.mark("one")
      face.turn(one)
    }
    #expect(heard == ["3", "2", "one", "1"])
  }

  // Foundation's queue posts a notification again in a run of the run loop inside its own call.
  @Test(
    "ours: in a run inside a call, what is for the same modes waits, unless other modes have a turn",
    arguments: [
      ([RunLoop.Mode.default, .default], ["end", "1", "2"]),
      ([.default, .default, .common, .default], ["2", "3", "4", "end", "1"]),
    ])
  func nested(modes: [RunLoop.Mode], expected: [String]) {
    let heard = QueuedScenario.ours { face in
      face.center.add(nil) { [log = face.log] notification in
        if notification.number == 1 {
          for _ in 0..<5 { _ = RunLoop.current.run(mode: .default, before: Date()) }
          log.record("end")
        }
        log.record("\(notification.number)")
      }
      for (index, mode) in modes.enumerated() { face.enqueue(index + 1, .asap, modes: [mode]) }
      face.turn()
    }
    #expect(heard == expected)
  }

  #if os(Linux)
    @Test("A11 Foundation: there is no removal by the object that observes")
    func a11Foundation() {
      let (center, heard, bell) = (Theirs(), Recorder<Int>(), Bell())
      _ = center.addObserver(forName: .tick, object: nil, queue: nil) { [bell] _ in
        withExtendedLifetime(bell) { heard.record(1) }
      }
      center.removeObserver(bell)
      center.removeObserver(bell, name: .tick, object: nil)
      center.post(name: .tick, object: nil)
      #expect(heard.values == [1])
    }
  #endif

  @Test(
    "A11 ours: removal by the object; and by name; and by what it observes, an instance or a value",
    arguments: [0, 1_000], [false, true])
  func a11(others: Int, isValue: Bool) {
    let (center, target) = (Ours(), Target())
    let (subject, another): (Any, Any) = isValue ? ("be" + "ll", 6) : (Bell(), Bell())
    let crowd = (0..<others).map { _ in Target() }
    let all: [(Notification.Name?, Any?)] = [
      (.tick, nil), (.tick, subject), (.tock, subject), (nil, subject),
    ]
    for other in crowd + [target] {
      for (name, object) in all {
        center.addObserver(other, selector: Target.hear, name: name, object: object)
      }
    }
    func heard() -> Int {
      let before = target.heard.count
      for name in [Notification.Name.tick, .tock] { center.post(name, isValue ? "bell" : subject) }
      return target.heard.count - before
    }
    #expect(heard() == 5)
    for (name, object, left) in [
      (.tick, another, 5), (.tick, subject, 4), (.tick, nil, 3), (nil, another, 3),
      (nil, subject, 0),
    ] as [(Notification.Name?, Any?, Int)] {
      center.removeObserver(target, name: name, object: object)
      #expect(heard() == left)
    }
    center.addObserver(target, selector: Target.hear, name: nil, object: nil)
    #expect(heard() == 2)
    for _ in 0..<2 { center.removeObserver(target) }
    #expect(heard() == 0)
    #expect(crowd.allSatisfy { $0.heard.count == 5 * 8 })
  }

  @Test("A11 K16 what observers of values observe is forgotten with them")
  func a11Forgotten() {
    let (center, lasting) = (Ours(), Target())
    center.addObserver(lasting, selector: Target.hear, name: .tick, object: 5)
    for number in 0..<1_000 {
      let target = Target()
      center.addObserver(target, selector: Target.hear, name: .tick, object: number)
      center.removeObserver(target)
      #expect(center.values.count == 1)
    }
    center.removeObserver(lasting, name: nil, object: 5)
    center.post(name: .tick, object: 5)
    #expect(lasting.heard.count == 0)
    #expect(center.values.count == 0)
  }

  @Test("A12 ours: a method is an observer, its object held weakly", arguments: [1, 2, 8])
  func a12(width: Int) {
    struct Lost: Sendable { weak let target: Target? }
    let (center, lost) = (Ours(), Recorder<Lost>())
    onThreads(width) { _ in
      func observe() {
        let target = Target()
        lost.record(Lost(target: target))
        center.addObserver(target, selector: Target.hear, name: .tick, object: nil)
        center.post(name: .tick, object: nil)
        #expect(target.heard.count >= 1)
      }
      observe()
      center.post(name: .tick, object: nil)
    }
    // None is called any more.
    #expect(lost.values.count == width && lost.values.allSatisfy { $0.target == nil })
    center.post(name: .tick, object: nil)
    #expect(center.description.split(separator: "\n").count == 1)
  }
}

extension QueueFace {
  fileprivate func enqueueFromDelivery() {
    let face = Kept<QueueFace>(makeQueue())
    center.add(nil) { [log] notification in
      log.record("\(notification.number)")
      if notification.number < 10 {
        face.withValue { $0?.enqueue(notification.number * 10, .asap) }
      }
    }
    for number in 1...3 { face.withValue { $0?.enqueue(number, .asap) } }
    turn()
    turn()
    // The observer keeps the queue, and so its center.
    face.set(nil)
  }
}

/// Observes with a method.
final class Target: Sendable {
  let heard = Recorder<Notification.Name>()
  @Sendable func hear(_ notification: Notification) { heard.record(notification.name) }
}
