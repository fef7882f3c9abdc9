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
    let (queue, gate) = (makeQueue(), Gate())
    _ = center.addObserver(forName: .tick, object: nil, queue: queue) { [heard] _ in
      heard.record(1)
    }
    queue.addOperation { gate.pass() }
    gate.waitUntilReached()
    let wait = onThread { [center] in center.post(name: .tick, object: nil) }
    while queue.operationCount < 2 { Thread.yield() }
    queue.cancelAllOperations()
    gate.open()
    wait()
    #expect(heard.values.isEmpty)
  }

  @Test("K3 an observer that is removed while its block waits for the queue is not called")
  func removedMeanwhile() {
    let (queue, gate) = (makeQueue(), Gate())
    let token = center.addObserver(forName: .tick, object: nil, queue: queue) { [heard] _ in
      heard.record(1)
    }
    queue.addOperation { gate.pass() }
    gate.waitUntilReached()
    let wait = onThread { [center] in center.post(name: .tick, object: nil) }
    while queue.operationCount < 2 { Thread.yield() }
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
    queue.waitUntilAllOperationsAreFinished()
    center.post(name: .tick, object: nil)
    while live.current > 0 && queue.operationCount > 0 { Thread.yield() }
    #expect(live.current == 0)
  }
}

extension Thread {
  /// Lets other threads go on.
  static func yield() { sched_yield() }
}
