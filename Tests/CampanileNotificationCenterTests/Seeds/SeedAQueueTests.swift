import Campanile
import CampanileFoundation
import Foundation
import Testing

@testable import CampanileNotificationCenter

/// `RELIABILITY.md` explains the letters and numbers of the tests' names.
@Suite("Seeds A: Foundation's notification queue and ours, and removal")
struct SeedAQueueTests {
  typealias Theirs = Foundation.NotificationCenter
  typealias Ours = CampanileNotificationCenter.NotificationCenter

  #if os(Linux)
    @Test("A10 Foundation: what is enqueued from a delivery stops the program")
    func a10Foundation() async {
      await #expect(processExitsWith: .failure) {
        _ = QueuedScenario("", []) { $0.enqueueFromDelivery() }.heard { .foundation($0) }
      }
    }
  #endif

  @Test("A10 ours: what is enqueued from a delivery comes in a later turn, in order")
  func a10() {
    let heard = QueuedScenario("", []) { $0.enqueueFromDelivery() }.heard { .ours($0) }
    #expect(heard == ["1", "2", "3", "10", "20", "30"])
  }

  @Test(
    "A10 ours: a turn ends although an observer enqueues, and others have theirs before the next")
  func a10Turns() {
    let heard = QueuedScenario("", []) { face in
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
    }.heard { .ours($0) }
    #expect(heard == ["1", "2", "other", "10", "20", "other"])
  }

  @Test("ours: a turn posts what is for its mode, and is idle whatever waits for another one")
  func modes() {
    let heard = QueuedScenario("", []) { face in
      let (one, other) = (RunLoop.Mode("CampanileTests.One"), RunLoop.Mode("CampanileTests.Other"))
      for mode in [one, other] {
        RunLoop.current.add(
          Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }, forMode: mode)
      }
      face.listen()
      face.enqueue(1, .asap, modes: [one])
      face.enqueue(2, .whenIdle, modes: [other])
      face.enqueue(3, .asap, modes: [other])
      face.turn(other)
      face.mark("one")
      face.turn(one)
    }.heard { .ours($0) }
    #expect(heard == ["3", "2", "one", "1"])
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
    "A11 ours: removal by the object; and by name; and by name and object", arguments: [0, 1_000])
  func a11(others: Int) {
    let (center, bell, target) = (Ours(), Bell(), Target())
    let crowd = (0..<others).map { _ in Target() }
    for other in crowd + [target] {
      center.addObserver(other, selector: Target.hear, name: .tick, object: nil)
      center.addObserver(other, selector: Target.hear, name: .tick, object: bell)
      center.addObserver(other, selector: Target.hear, name: .tock, object: bell)
      center.addObserver(other, selector: Target.hear, name: nil, object: bell)
    }
    func heard() -> Int {
      let before = target.heard.count
      center.post(name: .tick, object: bell)
      center.post(name: .tock, object: bell)
      return target.heard.count - before
    }
    #expect(heard() == 5)
    center.removeObserver(target, name: .tick, object: bell)
    #expect(heard() == 4)
    center.removeObserver(target, name: .tick, object: nil)
    #expect(heard() == 3)
    center.removeObserver(target, name: nil, object: Bell())
    #expect(heard() == 3)
    center.removeObserver(target, name: nil, object: bell)
    #expect(heard() == 0)
    center.addObserver(target, selector: Target.hear, name: nil, object: nil)
    #expect(heard() == 2)
    center.removeObserver(target)
    center.removeObserver(target)
    #expect(heard() == 0)
    #expect(crowd.allSatisfy { $0.heard.count >= 30 })
  }

  @Test("A11 ours: removal by the object and what it observes, where that is a value")
  func a11Values() {
    let (center, target, other) = (Ours(), Target(), Target())
    for target in [target, other] {
      center.addObserver(target, selector: Target.hear, name: .tick, object: 5)
      center.addObserver(target, selector: Target.hear, name: .tick, object: "bell")
      center.addObserver(target, selector: Target.hear, name: .tock, object: 5)
      center.addObserver(target, selector: Target.hear, name: nil, object: 5)
      center.addObserver(target, selector: Target.hear, name: .tick, object: nil)
    }
    func heard() -> Int {
      let before = target.heard.count
      center.post(name: .tick, object: 5)
      center.post(name: .tick, object: "be" + "ll")
      center.post(name: .tock, object: 5)
      return target.heard.count - before
    }
    #expect(heard() == 7)
    center.removeObserver(target, name: .tick, object: 6)
    #expect(heard() == 7)
    center.removeObserver(target, name: .tick, object: 5)
    #expect(heard() == 6)
    center.removeObserver(target, name: nil, object: 5)
    #expect(heard() == 3)
    center.removeObserver(target, name: nil, object: "bell")
    #expect(heard() == 2)
    center.removeObserver(target, name: .tick, object: nil)
    #expect(heard() == 0)
    #expect(other.heard.count == 7 * 6)
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
