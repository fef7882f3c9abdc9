import Campanile
import CampanileFoundation
import Foundation
import Testing

@Suite("Observing a Foundation center", .ownThread, .bothCenters)
struct ObservingTests {
  private let center = makeCenter()
  private let heard = Recorder<Int>()

  @Test("K1 the token form hears until the token is released")
  func token() {
    var token: ObservationToken? = center.observe(.tick) { [heard] in heard.record($0.number) }
    center.post(.tick, 1)
    withExtendedLifetime(token) {}
    token = nil
    center.post(.tick, 2)
    #expect(heard.values == [1])
  }

  @Test("K1 D8 E3 H7 the owner form hands the owner over, does not keep it, and ends with it")
  func owner() {
    weak var lost: Screen?
    func observe() {
      let screen = Screen()
      lost = screen
      center.observe(.tick, owner: screen) { [heard] screen, notification in
        screen.heard.record(notification.number)
        heard.record(notification.number)
      }
      center.notifications(of: Rung.self).observe(owner: screen) { [heard] in
        $0.heard.record($1.number)
        heard.record($1.number)
      }
      center.post(.tick, 1)
      center.post(Rung(number: 2))
      #expect(screen.heard.values == [1, 2])
    }
    observe()
    #expect(lost == nil)
    center.post(.tick, 3)
    center.post(Rung(number: 4))
    #expect(heard.values == [1, 2])
  }

  @Test(
    "K5 the observers of a name, or of all names, are called as they registered, whatever the object",
    arguments: [nil, Notification.Name.tick])
  func order(name: Notification.Name?) {
    let (bell, other) = (Bell(), Bell())
    let tokens = (0..<40).map { (index) -> ObservationToken in
      switch index % 3 {
      case 0: center.observe(name) { [heard] _ in heard.record(index) }
      case 1:
        center.notifications(of: name, object: bell).observe { [heard] _ in heard.record(index) }
      default:
        center.notifications(of: name, object: other).observe { [heard] _ in heard.record(-index) }
      }
    }
    center.post(.tick, 0, object: bell)
    let ofBell = (0..<40).filter { $0 % 3 != 2 }
    #expect(heard.values == ofBell)
    center.post(.tick, 0)
    withExtendedLifetime((tokens, other)) {}
    #expect(heard.values == ofBell + ofBell.filter { $0 % 3 == 0 })
  }

  @Test("K3 an observer that is removed during a post is skipped", arguments: [1, 2, 8])
  func cancelDuringPost(width: Int) {
    onThreads(width) { [kind = CenterKind.current] _ in
      let (center, heard) = (kind.make(), Recorder<Int>())
      let victim = Slot<ObservationToken>()
      let first = center.observe(.tick) { _ in victim.set(nil) }
      victim.set(center.observe(.tick) { heard.record($0.number) })
      let last = center.observe(.tick) { heard.record($0.number * 10) }
      center.post(.tick, 1)
      withExtendedLifetime((first, last)) {}
      #expect(heard.values == [10])
    }
  }

  @Test("K3 what is queued for an observer that has ended is not delivered")
  func cancelQueued() {
    let target = ManualTarget()
    let token = center.observe(.tick, on: .target(target)) { [heard] in heard.record($0.number) }
    center.post(.tick, 1)
    target.runJobs()
    center.post(.tick, 2)
    token.cancel()
    target.runJobs()
    #expect(heard.values == [1])
  }

  @Test("K8 B2 C4 D5 what is queued for a dead owner is not delivered, wherever it waits")
  func ownerGone() {
    let (queue, operations, worker, gate) = (TestQueue(), SerialOperationQueue(), Worker(), Gate())
    queue.hold()
    operations.isSuspended = true
    worker.delivery.perform { gate.pass() }
    gate.waitUntilReached()
    func observe() {
      let screen = Screen()
      for delivery in [queue.delivery, .operationQueue(operations), worker.delivery] {
        center.observe(.tick, owner: screen, on: delivery) { [heard] in
          heard.record($1.number)
          withExtendedLifetime($0) {}
        }
      }
      center.post(.tick, 1)
    }
    observe()
    queue.letGo()
    queue.flush()
    operations.isSuspended = false
    operations.waitUntilAllOperationsAreFinished()
    gate.open()
    worker.run {}
    worker.end()
    #expect(heard.values.isEmpty)
  }

  @Test(
    "K9 an observer about an object that has died hears nothing of new ones", arguments: [1, 8])
  func deadObject(width: Int) {
    let tokens = (0..<50).map { _ in
      center.notifications(of: .tick, object: Bell()).observe { [heard] in heard.record($0.number) }
    }
    let wide = (0..<50).map { _ in
      center.notifications(of: nil, object: Bell()).observe { [heard] in heard.record($0.number) }
    }
    onThreads(width) { [center] _ in
      for number in 0..<300 { center.post(.tick, number, object: Bell()) }
    }
    withExtendedLifetime((tokens, wide)) {}
    #expect(heard.values.isEmpty)
  }

  @Test("K9 an object with a lifetime ends the observations about it", arguments: [false, true])
  func objectLifetime(isForAllNames: Bool) {
    func observe() -> Registration {
      let tower = Tower()
      let owner = Tower()
      let registration = center.notifications(of: isForAllNames ? nil : .tick, object: tower)
        .observe(owner: owner) { $0.heard.record($1.number) }
      center.post(.tick, 1, object: tower)
      #expect(owner.heard.values == [1])
      withExtendedLifetime((tower, owner)) {}
      return registration
    }
    #expect(!observe().isActive)
    #expect(center.registrations.isEmpty)
  }

  @Test(
    "K6 E7 queued observers hear the posts of every thread in order, one at a time, also typed ones",
    arguments: [1, 2, 8], [false, true])
  func fifo(width: Int, isWide: Bool) async {
    let queue = TestQueue(attributes: isWide ? .concurrent : [])
    let (typed, overlaps) = (Inbox<Int>(), OverlapDetector())
    let tokens = [
      center.observe(Rung.notificationName, on: queue.delivery) { [heard] notification in
        overlaps.run { heard.record(notification.number) }
      },
      center.notifications(of: Rung.self).observe(on: queue.delivery) { typed.record($0.number) },
    ]
    onThreads(width) { [center] thread in
      for number in 0..<200 {
        center.post(Rung(number: thread * 1_000 + number))
        center.notifications(of: Rung.self).observe { _ in }.cancel()
      }
    }
    for heard in [heard, typed] {
      let values = await heard.values(count: width * 200)
      expectOrder(of: values, from: width, each: 200)
    }
    withExtendedLifetime(tokens) {}
    #expect(!overlaps.hasOverlapped)
  }

  @Test("What is read of a notification is of a Sendable type, or nothing")
  func content() {
    let bell = Bell()
    let token = center.observe(.tick) { [heard] notification in
      #expect(notification.name == .tick)
      #expect(notification["number", as: String.self] == nil)
      #expect(notification["nothing", as: Int.self] == nil)
      #expect(notification.object(as: Bell.self) === bell)
      #expect(notification.object(as: Screen.self) == nil)
      #expect(notification.isAbout(bell) && !notification.isAbout(Bell()))
      #expect(throws: NotificationDecodingError(.missingValue, "")) {
        try notification.value(forKey: "nothing", as: Int.self)
      }
      #expect(throws: NotificationDecodingError(.wrongType, "")) {
        try notification.value(forKey: "number", as: String.self)
      }
      heard.record(notification["number"] ?? 0)
    }
    center.post(.tick, 7, object: bell)
    withExtendedLifetime(token) {}
    #expect(heard.values == [7])
  }
}
