import Campanile
import Dispatch
import Foundation

/// A call on an operation queue that somebody waits for.
///
/// The call is given to the queue as an operation, and left at the queue's desk, where those look
/// who wait on a thread of that queue. Whoever comes first makes it. So a queue all of whose
/// threads wait still makes the calls that are addressed to it, and a circle of queues that call
/// each other ends.
final class QueuedCall: Sendable {
  private let body: Locked<(@Sendable () -> Void)?>
  private let waiter: Waiter

  private init(_ body: @escaping @Sendable () -> Void, for waiter: Waiter) {
    self.body = Locked(body)
    self.waiter = waiter
  }

  /// Whether the calling thread is one of the queue's, and makes calls for it itself.
  @inline(never)
  static func isMadeAtOnce(on queue: OperationQueue) -> Bool { currentQueue === queue }

  /// Calls `body` on `queue`, and returns when it has returned, or when the queue has canceled it.
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
    OperationQueue.current ?? (Delivery.mainQueue.isCurrent ? .main : nil)
  }

  private static func submit(_ call: QueuedCall, to queue: OperationQueue) {
    let ticket = Ticket(call)
    queue.addOperation { ticket.call.run() }
  }

  /// Goes with the operation: one that is canceled never runs.
  private final class Ticket: Sendable {
    let call: QueuedCall
    init(_ call: QueuedCall) { self.call = call }
    deinit { call.abandon() }
  }

  /// Makes the call, unless it was made.
  fileprivate func run() {
    if take({ $0() }) { waiter.finish() }
  }

  /// Gives the call up, unless it was made.
  private func abandon() {
    if take({ _ in }) { waiter.finish() }
  }

  /// Takes what is to be called, for `use`, and lets go of it, before the waiter may go on.
  ///
  /// - Returns: whether it was there.
  private func take(_ use: (@Sendable () -> Void) -> Void) -> Bool {
    guard let body = body.withLock({ $0.take() }) else { return false }
    use(body)
    return true
  }
}

/// A thread that waits for one call, and makes those for its own queue meanwhile.
private final class Waiter: Sendable {
  private let hasFinished = Locked(false)
  private let news = DispatchSemaphore(value: 0)

  func finish() {
    hasFinished.withLock { $0 = true }
    news.signal()
  }

  /// Makes the waiter look at its desk.
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

/// For each queue, the calls that are addressed to it, and those who wait on its threads.
private enum Desks {
  private struct Desk {
    var calls: [QueuedCall] = []
    var waiters: [Waiter] = []

    var isEmpty: Bool { calls.isEmpty && waiters.isEmpty }
  }

  /// A desk is here while somebody uses it, and whoever does keeps the queue.
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
