import Campanile
import CampanileFoundation
import Foundation
import Testing

@Suite("Observing a Foundation center")
struct ObservingTests {
  private let center = NotificationCenter()
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

  @Test("K1 the owner form hears until the owner ends, and hands the owner over")
  func owner() {
    func observe() {
      let screen = Screen()
      center.observe(.tick, owner: screen) { [heard] screen, notification in
        screen.heard.record(notification.number)
        heard.record(notification.number)
      }
      center.post(.tick, 1)
      #expect(screen.heard.values == [1])
    }
    observe()
    center.post(.tick, 2)
    #expect(heard.values == [1])
  }

  @Test("K1 a registration is never merged with another")
  func distinct() {
    let screen = Screen()
    for _ in 0..<3 { center.observe(.tick, owner: screen) { $0.heard.record($1.number) } }
    center.post(.tick, 1)
    #expect(screen.heard.values == [1, 1, 1])
  }

  @Test("K5 the observers of one name are called in the order they registered, whatever the object")
  func order() {
    let bell = Bell()
    let tokens = (0..<40).map { index in
      switch index % 3 {
      case 0: center.observe(.tick) { [heard] _ in heard.record(index) }
      case 1:
        center.notifications(of: .tick, object: bell).observe { [heard] _ in heard.record(index) }
      default:
        center.notifications(of: .tick, object: Bell()).observe { [heard] _ in heard.record(-index)
        }
      }
    }
    center.post(.tick, 0, object: bell)
    withExtendedLifetime(tokens) {}
    #expect(heard.values == (0..<40).filter { $0 % 3 != 2 })
  }

  @Test("K5 the observers of all names are called in the order they registered")
  func orderOfWildcards() {
    let bell = Bell()
    let tokens = (0..<20).map { index in
      index % 2 == 0
        ? center.observe(nil) { [heard] _ in heard.record(index) }
        : center.notifications(of: nil, object: bell).observe { [heard] _ in heard.record(index) }
    }
    center.post(.tick, 0, object: bell)
    #expect(heard.values == Array(0..<20))
    center.post(.tock, 0)
    withExtendedLifetime(tokens) {}
    #expect(heard.values.dropFirst(20) == (0..<20).filter { $0 % 2 == 0 }[...])
  }

  @Test("K3 an observer that is removed during a post is skipped", arguments: [1, 2, 8])
  func cancelDuringPost(width: Int) {
    onThreads(width) { _ in
      let (center, heard) = (NotificationCenter(), Recorder<Int>())
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

  @Test("K8 what is queued for a dead owner is not delivered")
  func ownerGone() {
    let target = ManualTarget()
    func observe() {
      let screen = Screen()
      center.observe(.tick, owner: screen, on: .target(target)) { [heard] in
        heard.record($1.number)
        withExtendedLifetime($0) {}
      }
      center.post(.tick, 1)
    }
    observe()
    target.runJobs()
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

  @Test("K10 the poster is not blocked by a queue that is busy")
  func busyQueue() {
    let queue = TestQueue()
    let done = DispatchSemaphore(value: 0)
    let token = center.observe(.tick, on: queue.delivery) { [heard] in
      heard.record($0.number)
      done.signal()
    }
    queue.hold()
    center.post(.tick, 1)
    #expect(heard.values.isEmpty)
    queue.letGo()
    done.waitPatiently()
    withExtendedLifetime(token) {}
    #expect(heard.values == [1])
  }

  @Test("K6 queued observers hear the posts of every thread in order", arguments: [1, 2, 8])
  func fifo(width: Int) {
    let queue = TestQueue()
    let token = center.observe(.tick, on: queue.delivery) { [heard] in heard.record($0.number) }
    onThreads(width) { [center] thread in
      for number in 0..<200 { center.post(.tick, thread * 1_000 + number) }
    }
    queue.flush()
    withExtendedLifetime(token) {}
    #expect(heard.count == width * 200)
    for thread in 0..<width {
      #expect(
        heard.values.filter { $0 / 1_000 == thread } == (0..<200).map { thread * 1_000 + $0 })
    }
  }

  @Test("An observer on the main actor is isolated to it")
  @MainActor func mainActor() async {
    let screen = MainScreen()
    center.observe(.tick, owner: screen, on: .main) { $0.numbers.append($1.number) }
    let token = center.observe(.tick, on: .main) { [heard] in
      screen.numbers.append($0.number * 10)
      heard.record($0.number)
    }
    center.post(.tick, 1)
    // Other tests use the main queue too: while something waits there, this does as well.
    _ = await heard.values(count: 1)
    withExtendedLifetime(token) {}
    #expect(screen.numbers == [1, 10])
  }

  @Test("An observer on an actor is isolated to it, and the actor is the owner")
  func onActor() async {
    let statistics = Statistics()
    let inbox = Inbox<Int>()
    center.observe(.tick, on: statistics) { statistics, notification in
      statistics.append(notification.number)
      inbox.record(notification.number)
    }
    for number in 0..<5 { center.post(.tick, number) }
    _ = await inbox.values(count: 5)
    #expect(await statistics.numbers == [0, 1, 2, 3, 4])
  }

  @Test("Asynchronous observers and sequences come from the source")
  func sources() async {
    let inbox = Inbox<Int>()
    let token = center.notifications(of: .tick).observeAsync { inbox.record($0.number) }
    let values = center.notifications(of: .tick).values()
    for number in 0..<3 { center.post(.tick, number) }
    #expect(await inbox.values(count: 3) == [0, 1, 2])
    var read: [Int] = []
    for await notification in values {
      read.append(notification.number)
      if read.count == 3 { break }
    }
    withExtendedLifetime(token) {}
    #expect(read == [0, 1, 2])
  }

  @Test("An observer of one delivery, of whatever name, is called once", arguments: [1, 2, 8])
  func once(width: Int) {
    let bell = Bell()
    let tokens = [
      center.observe(.tick, .once) { [heard] _ in heard.record(1) },
      center.notifications(of: nil, object: bell).observe(.once) { [heard] _ in heard.record(2) },
    ]
    center.post(.tock, 0)
    onThreads(width) { [center] _ in
      for number in 0..<100 { center.post(.tick, number, object: bell) }
    }
    #expect(heard.values.sorted() == [1, 2])
    #expect(tokens.allSatisfy { !$0.isActive })
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

/// A screen whose state belongs to the main actor.
@MainActor final class MainScreen {
  var numbers: [Int] = []
}
