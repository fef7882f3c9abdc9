import Campanile
import CampanileFoundation
import CampanileNotificationCenter
import Foundation
import Testing

@Suite("Observers with an operation queue")
struct QueuedCallTests {
  private let center = CampanileNotificationCenter.NotificationCenter()
  private let heard = Recorder<Int>()

  private func makeQueue() -> OperationQueue {
    SerialOperationQueue()
  }

  @Test("A7 the poster goes on if the queue cancels its operations, and the block is not called")
  func canceled() {
    let (queue, gate) = (WatchedQueue(), Gate())
    _ = center.addObserver(forName: .tick, object: nil, queue: queue) { [heard] _ in
      heard.record(1)
    }
    queue.addOperation { gate.pass() }
    gate.waitUntilReached()
    let wait = onThread(patiently: true) { [center] in center.post(name: .tick, object: nil) }
    for _ in 0..<2 { queue.added.waitPatiently() }
    queue.cancelAllOperations()
    gate.open()
    wait()
    #expect(heard.values.isEmpty)
  }

  @Test(
    "A7 the poster goes on if the queue is suspended and cancels its operations",
    .timeLimit(.long))
  func canceledWhileSuspended() {
    let queue = WatchedQueue()
    _ = center.addObserver(forName: .tick, object: nil, queue: queue) { [heard] _ in
      heard.record(1)
    }
    queue.isSuspended = true
    let wait = onThread(patiently: true) { [center] in center.post(name: .tick, object: nil) }
    queue.added.waitPatiently()
    queue.cancelAllOperations()
    wait()
    #expect(heard.values.isEmpty)
    // Foundation on Linux never releases a suspended queue with operations.
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
  }

  @Test(
    "K4 a block on a queue is inside an observer, and waits for none", .timeLimit(.long))
  func cancelAndWait() {
    let waits = Recorder<Registration.Wait>()
    let victim = center.observe(.tick) { _ in }
    _ = center.addObserver(forName: .tick, object: nil, queue: makeQueue()) { _ in
      waits.record(victim.cancelAndWait())
    }
    center.post(name: .tick, object: nil)
    #expect(waits.values == [.insideObserver])
  }

  @TaskLocal private static var request: String?
  private static let carrying: Void = { ContextCarrier($request).install() }()

  @Test("K15 a block on a queue has the context of the post, and its posts name that post")
  func context() {
    Self.carrying
    let (requests, tock) = (Recorder<String?>(), Notification.Name("tock"))
    let token = center.addObserver(forName: .tick, object: nil, queue: makeQueue()) { [center] _ in
      requests.record(Self.request)
      center.post(name: tock, object: nil)
    }
    let events = Recorder(observing: center.events)
    Self.$request.withValue("seven") { center.post(name: .tick, object: nil) }
    #expect(requests.values == ["seven"])
    let posts = events.values.filter { $0.kind == .posted }
    #expect(posts.count == 2)
    #expect(posts.last?.parentNumber != nil)
    #expect(posts.last?.parentNumber == posts.first?.postNumber)
    center.removeObserver(token)
  }

  @Test("K15 what a block on a queue sends names the asynchronous call that has led to the block")
  func asynchronousCause() async throws {
    let (first, second) = (Broadcaster<Int>(), Broadcaster<Int>())
    let causes = Recorder(observing: first.events.filter { $0.kind == .posted })
    let effects = Recorder(observing: second.events.filter { $0.kind == .posted })
    let block = center.addObserver(forName: .tick, object: nil, queue: makeQueue()) { _ in
      second.send(2)
    }
    let token = first.observeAsync { [center] _ in center.post(name: .tick, object: nil) }
    first.send(1)
    let effect = try await effects.next(within: patience)
    #expect(effect.parentNumber != nil)
    #expect(effect.parentNumber == causes.values.first?.postNumber)
    withExtendedLifetime(token) { center.removeObserver(block) }
  }

  @Test("K3 an observer that is removed while its block waits for the queue is not called")
  func removedMeanwhile() {
    let (queue, gate) = (WatchedQueue(), Gate())
    let token = center.addObserver(forName: .tick, object: nil, queue: queue) { [heard] _ in
      heard.record(1)
    }
    queue.addOperation { gate.pass() }
    gate.waitUntilReached()
    let wait = onThread(patiently: true) { [center] in center.post(name: .tick, object: nil) }
    for _ in 0..<2 { queue.added.waitPatiently() }
    center.removeObserver(token)
    gate.open()
    wait()
    #expect(heard.values.isEmpty)
  }

  @Test("A7 many threads post to each other's queues, and every block is called once")
  func crossing() {
    let queues = (0..<4).map { _ in makeQueue() }
    for (index, queue) in queues.enumerated() {
      _ = center.addObserver(
        forName: Notification.Name("\(index)"), object: nil, queue: queue
      ) { [heard] in
        #expect(OperationQueue.current === queue)
        heard.record($0.number)
      }
    }
    // Operations of every queue post to every other queue, and wait for it.
    for (index, queue) in queues.enumerated() {
      for round in 0..<8 {
        queue.addOperation { [center] in
          for other in queues.indices where other != index {
            center.post(
              name: Notification.Name("\(other)"), object: nil,
              userInfo: ["number": index * 1_000 + round])
          }
        }
      }
    }
    for queue in queues { queue.waitUntilAllOperationsAreFinished() }
    #expect(heard.count == 4 * 8 * 3)
    for index in queues.indices {
      for round in 0..<8 {
        #expect(heard.values.filter { $0 == index * 1_000 + round }.count == 3)
      }
    }
  }

  @Test("A7 the queue is kept by its observer, and released with it")
  func kept() {
    weak var lost: OperationQueue?
    func observe() -> any NSObjectProtocol {
      let queue = makeQueue()
      lost = queue
      return center.addObserver(forName: .tick, object: nil, queue: queue) { [heard] _ in
        heard.record(1)
      }
    }
    let token = observe()
    #expect(lost != nil)
    center.removeObserver(token)
    #expect(lost == nil)
  }

  @Test("K16 what blocks captured and notifications carried is released", arguments: [1, 2, 8])
  func released(width: Int) {
    let live = LiveCount()
    let queue = OperationQueue()
    onThreads(width) { [center] _ in
      for number in 0..<50 {
        let tracked = Tracked(live)
        let token = center.addObserver(forName: .tick, object: nil, queue: queue) { [tracked] _ in
          tracked.touch()
        }
        center.post(name: .tick, object: Tracked(live), userInfo: ["number": number])
        center.removeObserver(token)
      }
    }
    center.post(name: .tick, object: nil)
    #expect(live.current == 0)
  }

  @Test(
    "A7 K16 the queue holds nothing of the call any more when the post returns", arguments: [1, 8])
  func releasedBeforeReturn(width: Int) {
    onThreads(width) { _ in
      let (center, queue) = (CampanileNotificationCenter.NotificationCenter(), OperationQueue())
      let (live, kept) = (LiveCount(), Recorder<Int>())
      _ = center.addObserver(forName: .tick, object: nil, queue: queue) { _ in }
      for _ in 0..<1_000 {
        center.post(name: .tick, object: Tracked(live))
        kept.record(live.current)
      }
      #expect(kept.values.allSatisfy { $0 == 0 })
    }
  }

  @Test("K11 An operation that posts to its own queue adds none to it")
  func inline() {
    let queue = makeQueue()
    _ = center.addObserver(forName: .tick, object: nil, queue: queue) { [heard] _ in
      heard.record(queue.operationCount)
    }
    queue.addOperation { [center, heard] in
      center.post(name: .tick, object: nil)
      heard.record(queue.operationCount)
    }
    queue.waitUntilAllOperationsAreFinished()
    #expect(heard.values == [1, 1])
  }

  @Test("A7 posts to a queue from its own operations, from another queue and from a thread")
  func fromEverywhere() {
    let (one, two) = (makeQueue(), makeQueue())
    _ = center.addObserver(forName: .tick, object: nil, queue: one) { [heard] in
      #expect(OperationQueue.current === one)
      heard.record($0.number)
    }
    let post = { @Sendable [center] number in
      center.post(name: .tick, object: nil, userInfo: ["number": number])
    }
    for queue in [one, two] {
      queue.addOperation {
        post(1)
        post(2)
      }
      queue.waitUntilAllOperationsAreFinished()
    }
    onThread { post(3) }()
    #expect(heard.values == [1, 2, 1, 2, 3])
  }
}
