import Campanile
import CampanileFoundation
import Dispatch
import Foundation

/// A call on an operation queue that a thread waits for.
///
/// The call is added to the queue as an operation, and also stored at the queue's desk. Threads of
/// that queue that wait for other calls check the desk. The call is made by the operation or by
/// such a thread, whichever is first. So a queue still makes its calls when all of its threads
/// wait, and a cycle of queues that call each other ends.
final class QueuedCall: Sendable {
  private let body: Locked<(@Sendable () -> Void)?>
  private let context = PostContext.current
  private let cause = SourceEvent.Cause.current
  private let waiter: Waiter

  private init(_ body: @escaping @Sendable () -> Void, for waiter: Waiter) {
    self.body = Locked(body)
    self.waiter = waiter
  }

  /// Whether the calling thread runs on the queue, so that it makes the call itself.
  @inline(never)
  static func isMadeAtOnce(on queue: OperationQueue) -> Bool { currentQueue === queue }

  /// Calls `body` on `queue`.
  ///
  /// Returns when `body` has returned, or when the queue has canceled the call.
  @inline(never)
  static func make(on queue: OperationQueue, _ body: @escaping @Sendable () -> Void) {
    let current = currentQueue
    let waiter = Waiter()
    let call = QueuedCall(body, for: waiter)
    if let current { Desks.sitDown(waiter, at: current) }
    Desks.leave(call, at: queue)
    submit(call, to: queue)
    waiter.wait(at: current)
    Desks.takeBack(call, from: queue)
    if let current { Desks.getUp(waiter, from: current) }
  }

  /// The queue that the calling thread runs on.
  private static var currentQueue: OperationQueue? {
    // The main queue may run on another thread than the first one.
    OperationQueue.current ?? (MainDelivery.main.delivery.isCurrent ? .main : nil)
  }

  private static func submit(_ call: QueuedCall, to queue: OperationQueue) {
    let ticket = Ticket(call)
    queue.addOperation(ReleasingOperation { ticket.call.run() })
  }

  /// Kept by the operation.
  ///
  /// The operation releases it without running when it is canceled.
  private final class Ticket: Sendable {
    let call: QueuedCall
    init(_ call: QueuedCall) { self.call = call }
    deinit { call.abandon() }
  }

  /// Makes the call, unless it has been made.
  fileprivate func run() {
    if take({ makeInPost($0) }) { waiter.finish() }
  }

  /// Makes the call as a part of the post, in its context.
  private func makeInPost(_ body: @escaping @Sendable () -> Void) {
    Self.calls.post { [context, cause] in
      SourceEvent.Cause.$current.withValue(cause) { context.restore(around: body) }
    }
  }

  /// Has one observer, which makes each call: so the thread is inside an observer meanwhile.
  private static let calls: SourceList<@Sendable () -> Void> = {
    let list = SourceList(of: (@Sendable () -> Void).self)
    _ = list.register(.init(), ObserverBody { $0() })
    return list
  }()

  /// Drops the call, unless it has been made.
  private func abandon() {
    if take({ _ in }) { waiter.finish() }
  }

  /// Passes the closure to `use`, and releases it before the waiter may continue.
  ///
  /// - Returns: Whether it was there.
  private func take(_ use: (@escaping @Sendable () -> Void) -> Void) -> Bool {
    guard let body = body.withLock({ $0.take() }) else { return false }
    use(body)
    return true
  }
}

/// A thread that waits for one call, and meanwhile makes the calls for its own queue.
private final class Waiter: Sendable {
  private let hasFinished = Locked(false)
  private let news = DispatchSemaphore(value: 0)

  func finish() {
    hasFinished.withLock { $0 = true }
    news.signal()
  }

  /// Makes the waiter check its desk.
  func wake() { news.signal() }

  func wait(at queue: OperationQueue?) {
    while !hasFinished.withLock({ $0 }) {
      if let queue, let call = Desks.takeCall(at: queue) {
        call.run()
      } else {
        news.wait()
      }
    }
  }
}

/// For each queue, its desk: the calls addressed to the queue, and the waiting threads of the
/// queue.
private enum Desks {
  private struct Desk {
    var calls: [QueuedCall] = []
    var waiters: [Waiter] = []

    var isEmpty: Bool { calls.isEmpty && waiters.isEmpty }
  }

  /// The desks in use.
  ///
  /// The threads that use a desk keep its queue.
  private static let desks = Locked<[ObjectIdentifier: Desk]>([:])

  private static func withDesk<Result>(
    of queue: OperationQueue, _ body: (inout Desk) -> Result
  ) -> Result {
    desks.withLock { desks in
      let id = ObjectIdentifier(queue)
      var desk = desks.removeValue(forKey: id) ?? Desk()
      defer { if !desk.isEmpty { desks[id] = desk } }
      return body(&desk)
    }
  }

  static func sitDown(_ waiter: Waiter, at queue: OperationQueue) {
    withDesk(of: queue) { $0.waiters.append(waiter) }
  }

  static func getUp(_ waiter: Waiter, from queue: OperationQueue) {
    withDesk(of: queue) { $0.waiters.removeAll { $0 === waiter } }
  }

  static func leave(_ call: QueuedCall, at queue: OperationQueue) {
    let waiters = withDesk(of: queue) { desk in
      desk.calls.append(call)
      return desk.waiters
    }
    for waiter in waiters { waiter.wake() }
  }

  static func takeCall(at queue: OperationQueue) -> QueuedCall? {
    withDesk(of: queue) { $0.calls.isEmpty ? nil : $0.calls.removeFirst() }
  }

  static func takeBack(_ call: QueuedCall, from queue: OperationQueue) {
    withDesk(of: queue) { $0.calls.removeAll { $0 === call } }
  }
}
