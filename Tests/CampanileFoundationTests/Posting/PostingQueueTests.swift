import Campanile
import CampanileFoundation
import Foundation
import Testing

@Suite("Posting later, and once for many", .ownThread)
struct PostingQueueTests {
  private let center = MessageCenter()
  private let notifications = NotificationCenter()
  private let target = ManualTarget()
  private let heard = Recorder<String>()

  private func listen() -> [ObservationToken] {
    [
      center.observe(Rung.self) { [heard] in heard.record("\($0.number)") },
      notifications.observe(nil) { [heard] in
        heard.record("\($0.name.rawValue) \($0.number)")
      },
    ]
  }

  /// A notification with a number.
  private func note(
    _ name: Notification.Name, _ number: Int = 1, _ object: (any Sendable)? = nil
  ) -> sending Notification {
    Notification(name: name, object: object, userInfo: ["number": number])
  }

  /// Runs one turn of the place, and says what was heard in it.
  private func turn() -> [String] {
    let before = heard.count
    target.run { target.takeJob()?.run() }
    return Array(heard.values.dropFirst(before))
  }

  @Test("E8 I now is before enqueue returns, asap in the next turn, idle when nothing else is left")
  func styles() {
    let (queue, tokens) = (PostingQueue(on: .target(target)), listen())
    queue.enqueue(Rung(number: 1), to: center, .whenIdle, coalescing: .none)
    queue.enqueue(Rung(number: 2), to: center, .whenIdle, coalescing: .none)
    queue.enqueue(Rung(number: 3), to: center, .asap, coalescing: .none)
    queue.enqueue(Rung(number: 4), to: center, .asap, coalescing: .none)
    queue.enqueue(Rung(number: 5), to: center, .now, coalescing: .none)
    #expect(heard.values == ["5"])
    #expect(queue.count == 4)
    #expect(turn() == ["3", "4"])
    queue.enqueue(Rung(number: 6), to: center, .asap, coalescing: .none)
    #expect(turn() == ["6"])
    #expect(turn() == ["1"])
    #expect(turn() == ["2"])
    #expect(turn() == [])
    withExtendedLifetime(tokens) {}
    #expect(target.enqueuedCount == 4)
  }

  @Test("A10 what is enqueued from a delivery comes in a later turn, in order")
  func reentrant() {
    let queue = PostingQueue(on: .target(target))
    let token = center.observe(Rung.self) { [heard, center] rung in
      heard.record("\(rung.number)")
      guard rung.number < 100 else { return }
      queue.enqueue(Rung(number: rung.number * 100), to: center, .asap, coalescing: .none)
      #expect(queue.count > 0)
    }
    for number in 1...3 {
      queue.enqueue(Rung(number: number), to: center, .asap, coalescing: .none)
    }
    #expect(turn() == ["1", "2", "3"])
    #expect(turn() == ["100", "200", "300"])
    withExtendedLifetime(token) {}
  }

  @Test("E8 I coalescing by type, by subject, by both, and by key keeps the last, at the end")
  func coalescing() {
    let (queue, tokens) = (PostingQueue(on: .target(target)), listen())
    let (one, two) = (Bell(), Bell())
    func enqueue(_ number: Int, _ bell: Bell, _ coalescing: PostingCoalescing) {
      queue.enqueue(Rung(number: number), about: bell, to: center, .asap, coalescing: coalescing)
    }
    for number in 0..<6 { enqueue(number, number % 2 == 0 ? one : two, .typeAndSubject) }
    #expect(turn() == ["4", "5"])
    for number in 0..<6 { enqueue(number, number % 2 == 0 ? one : two, .type) }
    #expect(turn() == ["5"])
    for number in 0..<6 { enqueue(number, number % 2 == 0 ? one : two, .subject) }
    #expect(turn() == ["4", "5"])
    for number in 0..<6 { enqueue(number, one, .key("\(number % 3)")) }
    #expect(turn() == ["3", "4", "5"])
    for number in 0..<3 { enqueue(number, one, .none) }
    #expect(turn() == ["0", "1", "2"])
    queue.enqueue(Rung(number: 7), to: center, .whenIdle)
    queue.enqueue(Rung(number: 8), to: center, .asap)
    #expect(queue.count == 1)
    #expect(turn() == ["8"])
    withExtendedLifetime(tokens) {}
  }

  @Test("I notifications coalesce by name and object, and centers are kept apart")
  func ofNotifications() {
    let (queue, tokens) = (PostingQueue(on: .target(target)), listen())
    let bell = Bell()
    for number in 0..<3 {
      queue.enqueue(note(.tick, number), to: notifications, .asap)
      queue.enqueue(note(.tick, number * 10, bell), to: notifications, .asap)
      queue.enqueue(note(.tock, number), to: notifications, .asap, coalescing: .none)
      queue.enqueue(Rung(number: number), object: bell, to: notifications, .asap, coalescing: .type)
      queue.enqueue(note(.tick, number), to: NotificationCenter(), .asap, coalescing: .type)
    }
    #expect(turn() == ["Tock 0", "Tock 1", "Tick 2", "Tick 20", "Tock 2", "Rung 2"])
    withExtendedLifetime(tokens) {}
  }

  @Test("I notifications about values do not take each other's place")
  func values() {
    let (queue, tokens) = (PostingQueue(on: .target(target)), listen())
    for object in [nil, "A", "B", nil] {
      queue.enqueue(note(.tick, 1, object), to: notifications, .asap)
    }
    // The last takes the place of the first, which is about nothing either.
    #expect(queue.count == 3)
    queue.enqueue(note(.tick, 1, 1), to: notifications, .asap)
    #expect(queue.count == 4)
    #expect(turn().count == 4)
    withExtendedLifetime(tokens) {}
  }

  @Test("I what is posted now takes back what waits")
  func nowTakesBack() {
    let (queue, tokens) = (PostingQueue(on: .target(target)), listen())
    queue.enqueue(Rung(number: 1), to: center, .asap)
    queue.enqueue(Rung(number: 2), to: notifications, .whenIdle)
    queue.enqueue(note(.tick, 3), to: notifications, .asap)
    queue.enqueue(Rung(number: 4), to: center, .now)
    queue.enqueue(Rung(number: 5), to: notifications, .now)
    queue.enqueue(note(.tick, 6), to: notifications, .now)
    #expect(queue.count == 0 && turn() == [])
    #expect(heard.values == ["4", "Rung 5", "Tick 6"])
    withExtendedLifetime(tokens) {}
  }

  @Test("I what waits is taken back, of any object or of one, and what is of others stays")
  func dequeue() {
    let (queue, tokens) = (PostingQueue(on: .target(target)), listen())
    let (bell, other) = (Bell(), Bell())
    for (index, object) in [bell, other].enumerated() {
      queue.enqueue(Rung(number: index + 1), about: object, to: center, .asap, coalescing: .none)
    }
    queue.enqueue(Rung(number: 3), to: center, .asap, coalescing: .none)
    for object in [bell, other, nil] {
      for (name, style) in [(Notification.Name.tick, PostingQueue.Style.asap), (.tock, .whenIdle)] {
        queue.enqueue(note(name, 1, object), to: notifications, style, coalescing: .none)
      }
    }
    queue.dequeue(Rung.self, about: bell, from: center)
    #expect(queue.count == 8)
    queue.dequeue(.tock, object: bell, from: notifications)
    #expect(queue.count == 7)
    // Without an object, whatever they are about.
    queue.dequeue(.tick, from: notifications)
    queue.dequeue(Rung.self, from: MessageCenter())
    queue.dequeue(.tock, from: NotificationCenter())
    #expect(queue.count == 4)
    #expect(turn() == ["2", "3"])
    queue.enqueue(Rung(number: 4), to: center, .asap, coalescing: .none)
    queue.dequeue(Rung.self, from: center)
    #expect(turn() + turn() == ["Tock 1", "Tock 1"])
    withExtendedLifetime(tokens) {}
  }

  @Test("I posts of many threads are each in order, and none is lost", arguments: [1, 2, 8])
  func threads(width: Int) {
    let dispatch = TestQueue()
    let (queue, tokens) = (PostingQueue(on: dispatch.delivery), listen())
    onThreads(width) { [center] thread in
      for number in 0..<200 {
        queue.enqueue(Rung(number: thread * 1_000 + number), to: center, .asap, coalescing: .none)
      }
    }
    // All is enqueued: what the turn in progress leaves over is posted in the next one.
    dispatch.flush()
    #expect(queue.count == 0)
    withExtendedLifetime(tokens) {}
    expectOrder(of: heard.values.compactMap { Int($0) }, from: width, each: 200)
  }

  @Test("I on a thread, idle comes after everything that is to be posted soon")
  func onThread() {
    let worker = Worker()
    let (queue, tokens) = (PostingQueue(on: worker.delivery), listen())
    let gate = Gate()
    worker.delivery.perform { gate.pass() }
    gate.waitUntilReached()
    queue.enqueue(Rung(number: 3), to: center, .whenIdle, coalescing: .none)
    queue.enqueue(Rung(number: 1), to: center, .asap, coalescing: .none)
    queue.enqueue(Rung(number: 2), to: center, .asap, coalescing: .none)
    gate.open()
    // Behind the turn for what is to be posted soon, and behind the one that is asked for at its end.
    for _ in 0..<2 { worker.run {} }
    #expect(queue.count == 0)
    worker.end()
    withExtendedLifetime(tokens) {}
    #expect(heard.values == ["1", "2", "3"])
  }

  @Test("I a turn comes after the deliveries that wait, up to a thousand")
  func afterDeliveries() {
    let dispatch = TestQueue()
    let queue = PostingQueue(on: dispatch.delivery)
    let tokens = [
      notifications.observe(.tick, on: dispatch.delivery) { [heard] in heard.record("\($0.number)")
      },
      center.observe(Rung.self) { [heard] in heard.record("rung \($0.number)") },
    ]
    dispatch.hold()
    for number in 0..<1_000 { notifications.post(.tick, number) }
    queue.enqueue(Rung(number: 1), to: center, .whenIdle, coalescing: .none)
    queue.enqueue(Rung(number: 2), to: center, .asap, coalescing: .none)
    dispatch.letGo()
    dispatch.flush()
    withExtendedLifetime(tokens) {}
    #expect(heard.values == (0..<1_000).map { "\($0)" } + ["rung 2", "rung 1"])
  }

  @Test("K16 a queue that is released posts what waits, and an ended place discards and counts it")
  func ends() {
    let live = LiveCount()
    struct Cargo: MessageCenter.Message { let tracked: Tracked }
    let tokens = listen()
    func enqueue() {
      let queue = PostingQueue(on: .target(target))
      queue.enqueue(Rung(number: 1), to: center, .asap)
    }
    enqueue()
    #expect(turn() == ["1"])
    let queue = PostingQueue(on: .target(target))
    queue.enqueue(Rung(number: 2), to: center, .asap)
    queue.enqueue(Cargo(tracked: Tracked(live)), to: center, .whenIdle)
    #expect(live.current == 1)
    target.end()
    #expect(queue.discardedCount == 2)
    #expect(live.current == 0)
    queue.enqueue(Rung(number: 3), to: center, .asap)
    #expect(queue.discardedCount == 3)
    withExtendedLifetime(tokens) {}
    #expect(heard.values == ["1"])
  }

  @Test("K16 a queue keeps nothing of what it has posted")
  func posted() {
    let live = LiveCount()
    struct Cargo: MessageCenter.Message { let tracked: Tracked }
    let queue = PostingQueue(on: .target(target))
    queue.enqueue(Cargo(tracked: Tracked(live)), to: center, .asap, coalescing: .none)
    queue.enqueue(Cargo(tracked: Tracked(live)), to: center, .whenIdle, coalescing: .none)
    queue.enqueue(Cargo(tracked: Tracked(live)), to: center, .whenIdle, coalescing: .none)
    #expect(live.current == 3)
    for left in [2, 1, 0] {
      _ = turn()
      #expect(live.current == left)
    }
    #expect(queue.count == 0)
  }

  @Test(
    "K9 what waits does not hold a subject that is in its deinit, and is posted about nothing",
    arguments: [PostingQueue.Style.asap, .whenIdle])
  func deinitializing(style: PostingQueue.Style) {
    let (queue, living) = (PostingQueue(on: .target(target)), Ending { _ in })
    let tokens = [
      center.messages(of: Ended.self).withSubject.observe { [heard] posted in
        heard.record("\(posted.message.number) \(posted.subject == nil)")
      },
      center.messages(of: Ended.self, about: living).observe { [heard] _ in
        heard.record("about another")
      },
      notifications.observe(Ended.notificationName) { [heard] in
        heard.record("\($0.number) \($0.object(as: Ending.self) == nil)")
      },
    ]
    for number in [1, 10] {
      _ = Ending { [center, notifications] ending in
        queue.enqueue(Ended(number: number), about: ending, to: center, style)
        queue.enqueue(Ended(number: number + 1), object: ending, to: notifications, style)
        let notification = Ended(number: number + 2).notification(about: ending)
        queue.enqueue(notification, to: notifications, style, coalescing: .none)
        // Who waits without a subject takes nobody's place, also not where the subject was.
        queue.enqueue(Ended(number: number + 3), about: ending, to: center, style)
        queue.dequeue(Ended.self, about: Ending { _ in }, from: center)
        #expect(queue.count == (number == 1 ? 4 : 8))
      }
    }
    target.runJobs()
    withExtendedLifetime((tokens, living)) {}
    #expect(heard.values == [1, 2, 3, 4, 10, 11, 12, 13].map { "\($0) true" })
  }

  @Test("K9 what is posted now from a deinit reaches the observers of its subject")
  func deinitializingNow() {
    let queue = PostingQueue(on: .target(target))
    func observe() -> ObservationToken {
      let ending = Ending { [center] in
        queue.enqueue(Ended(number: 1), about: $0, to: center, .now)
      }
      return center.messages(of: Ended.self, about: ending).observe { [heard] in
        heard.record("\($0.number)")
      }
    }
    let token = observe()
    withExtendedLifetime(token) {}
    #expect(heard.values == ["1"])
  }

  @Test("Immediate delivery is no place to post on later")
  func immediate() async {
    expect(
      await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = PostingQueue(on: .immediate)
      },
      says: "was given immediate delivery")
  }
}
