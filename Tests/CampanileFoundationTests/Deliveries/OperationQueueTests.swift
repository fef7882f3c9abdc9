import Campanile
import Foundation
import Testing

@testable import CampanileFoundation

@Suite("Delivery on operation queues", .ownThread)
struct OperationQueueTests {
  private let center = MessageCenter()
  private let heard = Recorder<Int>()

  private func makeQueue(width: Int = 1) -> OperationQueue {
    let queue = width == 1 ? SerialOperationQueue() : OperationQueue()
    queue.name = "test"
    queue.maxConcurrentOperationCount = width
    return queue
  }

  @Test(
    "K6 deliveries are in order and never overlap, however wide the queue", arguments: [1, 2, 8])
  func order(width: Int) {
    let queue = makeQueue(width: width)
    let overlaps = OverlapDetector()
    let token = center.observe(Rung.self, on: .operationQueue(queue)) { [heard] rung in
      overlaps.run {
        #expect(OperationQueue.current === queue)
        heard.record(rung.number)
      }
    }
    onThreads(width) { [center] thread in
      for number in 0..<200 { center.post(Rung(number: thread * 1_000 + number)) }
    }
    queue.waitUntilAllOperationsAreFinished()
    withExtendedLifetime(token) {}
    #expect(!overlaps.hasOverlapped)
    expectOrder(of: heard.values, from: width, each: 200)
  }

  @Test("A post with a high priority becomes an operation of high priority")
  func highPriority() async {
    let queue = OperationQueue()
    queue.isSuspended = true
    let token = center.observe(Rung.self, on: .operationQueue(queue)) { _ in }
    await Task(priority: .high) { [center] in center.post(Rung(number: 1)) }.value
    #expect(queue.operations.map(\.queuePriority) == [.high])
    queue.cancelAllOperations()
    queue.isSuspended = false
    withExtendedLifetime(token) {}
  }

  @Test("K10 the poster does not wait, and a burst is one operation")
  func burst() {
    let queue = makeQueue()
    queue.isSuspended = true
    let token = center.observe(Rung.self, on: .operationQueue(queue)) { [heard] in
      heard.record($0.number)
    }
    for number in 0..<50 { center.post(Rung(number: number)) }
    #expect(heard.values.isEmpty)
    #expect(queue.operationCount == 1)
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    withExtendedLifetime(token) {}
    #expect(heard.values == Array(0..<50))
  }

  @Test("K11 D7 who posts on the queue is delivered to inline, if nothing waits; ordered queues")
  func inline() {
    let queue = makeQueue()
    let tokens = [
      center.observe(Rung.self, on: .operationQueue(queue)) { [heard] in heard.record($0.number) },
      center.observe(Rung.self, on: .operationQueue(queue).ordered) { [heard] in
        heard.record($0.number * 10)
      },
    ]
    queue.addOperation { [center, heard] in
      center.post(Rung(number: 1))
      heard.record(0)
    }
    queue.waitUntilAllOperationsAreFinished()
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [1, 0, 10])
  }

  @Test("K11 who posts on another queue is not on this one")
  func anotherQueue() {
    let (queue, other) = (makeQueue(), makeQueue())
    let token = center.observe(Rung.self, on: .operationQueue(queue)) { [heard] in
      heard.record(OperationQueue.current === queue ? $0.number : -1)
    }
    queue.isSuspended = true
    other.addOperation { [center, heard] in
      center.post(Rung(number: 1))
      heard.record(0)
    }
    other.waitUntilAllOperationsAreFinished()
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    withExtendedLifetime(token) {}
    #expect(heard.values == [0, 1])
  }

  @Test("A7 the queue is held strongly, so that the delivery happens")
  func retained() async {
    func observe() -> ObservationToken {
      center.observe(Rung.self, on: .operationQueue(makeQueue())) { [heard] in
        heard.record($0.number)
      }
    }
    let token = observe()
    center.post(Rung(number: 1))
    #expect(await heard.values(count: 1) == [1])
    withExtendedLifetime(token) {}
  }

  @Test("Operations that are canceled discard what waits, and count it; what comes is delivered")
  func canceled() {
    struct Cargo: MessageCenter.Message { let probe: OnRelease }
    let (queue, released) = (makeQueue(), DispatchSemaphore(value: 0))
    let delivery = Delivery.operationQueue(queue)
    queue.isSuspended = true
    let tokens = [
      center.observe(Cargo.self, on: delivery) { [heard] _ in heard.record(0) },
      center.observe(Rung.self, on: delivery) { [heard] in heard.record($0.number) },
    ]
    for _ in 0..<3 { center.post(Cargo(probe: OnRelease { released.signal() })) }
    queue.cancelAllOperations()
    for _ in 0..<3 { released.waitPatiently() }
    #expect(delivery.discardedDeliveryCount == 3)
    center.post(Rung(number: 3))
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    center.post(Rung(number: 4))
    queue.waitUntilAllOperationsAreFinished()
    withExtendedLifetime(tokens) {}
    #expect(heard.values == [3, 4])
  }

  @Test("Everybody who names one queue has one place; the main one is the main queue")
  func onePlace() {
    let queue = makeQueue()
    let notifications = NotificationCenter()
    queue.isSuspended = true
    let tokens = [
      center.observe(Rung.self, on: .operationQueue(queue)) { [heard] in heard.record($0.number) },
      notifications.observe(.tick, on: .operationQueue(queue)) { [heard] in
        heard.record($0.number)
      },
    ]
    for number in 0..<6 {
      if number % 2 == 0 {
        center.post(Rung(number: number))
      } else {
        notifications.post(.tick, number)
      }
    }
    #expect(queue.operationCount == 1)
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    withExtendedLifetime(tokens) {}
    #expect(heard.values == Array(0..<6))
    #expect(Delivery.operationQueue(.main).description == ".main")
    #expect(Delivery.operationQueue(queue).description == ".operationQueue(test)")
  }

  @Test("K16 a queue that nobody observes on is released")
  func released() {
    let released = DispatchSemaphore(value: 0)
    func observe() {
      let queue = MortalQueue { released.signal() }
      let token = center.observe(Rung.self, on: .operationQueue(queue)) { [heard] in
        heard.record($0.number)
      }
      center.post(Rung(number: 1))
      queue.waitUntilAllOperationsAreFinished()
      withExtendedLifetime(token) {}
    }
    observe()
    #expect(heard.values == [1])
    // The queue's own thread may be on its way out of the operation.
    released.waitPatiently()
  }

  @Test(
    "K16 the table of queues does not grow with those that nobody observes on", arguments: [1, 8])
  func table(width: Int) {
    onThreads(width) { [center] _ in
      // All kept: a queue that has gone would leave its address, and so its place, to the next.
      let queues = (0..<1_600 / width).map { _ in OperationQueue() }
      for queue in queues {
        let token = center.observe(Rung.self, on: .operationQueue(queue)) { _ in }
        withExtendedLifetime(token) {}
      }
      withExtendedLifetime(queues) {}
    }
    // Other tests use queues meanwhile, and a thread that purges holds what it has seen alive for a
    // moment, though not as many.
    #expect(OperationQueueTarget.table.withLock { $0.count } < 800)
  }
}

/// A queue that says when it is released.
private final class MortalQueue: OperationQueue, @unchecked Sendable {
  private let onRelease: @Sendable () -> Void

  init(_ onRelease: @escaping @Sendable () -> Void) {
    self.onRelease = onRelease
    super.init()
    maxConcurrentOperationCount = 1
  }

  deinit { onRelease() }
}
