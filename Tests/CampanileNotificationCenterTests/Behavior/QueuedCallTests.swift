import Campanile
import CampanileFoundation
import CampanileNotificationCenter
import Foundation
import Testing

@Suite("Observers with an operation queue", .ownThread)
struct QueuedCallTests {
  private let center = CampanileNotificationCenter.NotificationCenter()
  private let heard = Recorder<Int>()

  private func makeQueue() -> OperationQueue { SerialOperationQueue() }

  /// Why a block is not called that waits for its queue.
  enum Interruption: CaseIterable, Sendable {
    case canceled, canceledWhileSuspended, removed
  }

  @Test(
    "A7 K3 the poster goes on, and its block is not called, if it is canceled or removed meanwhile",
    arguments: Interruption.allCases)
  func interrupted(interruption: Interruption) {
    let (queue, gate) = (WatchedQueue(), Gate())
    let token = center.add(.tick, queue: queue) { [heard] _ in heard.record(1) }
    queue.isSuspended = interruption == .canceledWhileSuspended
    queue.addOperation { gate.pass() }
    if !queue.isSuspended { gate.waitUntilReached() }
    let wait = onThread(patiently: true) { [center] in center.post(.tick) }
    for _ in 0..<2 { queue.added.waitPatiently() }
    if interruption == .removed {
      center.removeObserver(token)
    } else {
      queue.cancelAllOperations()
    }
    if !queue.isSuspended { gate.open() }
    wait()
    #expect(heard.values.isEmpty)
    // Foundation on Linux never releases a suspended queue with operations.
    queue.isSuspended = false
    gate.open()
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

  @Test(
    "A7 K16 the queue holds nothing of the call when the post returns, nor of a removed block",
    arguments: [1, 2, 8])
  func released(width: Int) {
    onThreads(width) { _ in
      let (center, queue) = (CampanileNotificationCenter.NotificationCenter(), OperationQueue())
      let (live, kept) = (LiveCount(), Recorder<Int>())
      for _ in 0..<500 {
        let token = center.add(.tick, queue: queue) { [tracked = Tracked(live)] _ in
          tracked.touch()
        }
        for _ in 0..<2 {
          center.post(.tick, Tracked(live))
          kept.record(live.current - 1)
        }
        center.removeObserver(token)
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
}
