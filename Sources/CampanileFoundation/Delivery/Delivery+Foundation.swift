public import Campanile
public import Foundation

extension Delivery {
  /// On an operation queue, which is retained for as long as the registration lives.
  ///
  /// ```swift
  /// center.observe(TrackChanged.self, owner: self, on: .operationQueue(decoding)) { … }
  /// ```
  ///
  /// If the poster is in an operation of that queue and no delivery waits there, the observer runs
  /// inline. A burst of messages becomes one operation. On a queue that runs many operations at
  /// once, the unbounded observers still run one at a time. While the queue is suspended,
  /// deliveries wait; a burst that is being delivered is finished first. `cancelAllOperations()`
  /// discards the waiting deliveries, and counts them.
  ///
  /// For the main operation queue, this is `queue(.main)`.
  ///
  /// - Parameters:
  ///   - queue: The operation queue.
  ///   - buffering: How many notifications wait for an observer that is behind.
  ///   - isOrdered: Whether it always queues.
  public static func operationQueue(
    _ queue: OperationQueue, buffering: Buffering = .unbounded, ordered isOrdered: Bool = false
  ) -> Delivery {
    if queue === OperationQueue.main {
      return .queue(.main, buffering: buffering, ordered: isOrdered)
    }
    return .target(OperationQueueTarget.of(queue), buffering: buffering, ordered: isOrdered)
  }

  /// On a run loop, in the given modes.
  ///
  /// ```swift
  /// center.observe(TrackChanged.self, owner: self, on: .runLoop(.main)) { … }
  /// ```
  ///
  /// If the poster is on the run loop's thread and no delivery waits there, the observer runs
  /// inline, whatever the mode. With `ordered: true` it always waits for a turn of the run loop in one
  /// of the modes. All observers of one run loop in the same modes share one timer, which wakes the
  /// run loop. A burst wakes it once. Deliveries are queued outside the run loop, so no message is
  /// lost when wake-ups coalesce.
  ///
  /// The timer stays on the run loop until the thread ends, so `run()` does not return for lack of
  /// sources, and `run(mode:before:)` waits until its date unless a source fires. Deliveries in the
  /// same modes never overlap: if an observer runs the run loop during its call, the next delivery
  /// in the same modes waits until that call has returned, as on the main queue. Only an observer
  /// with a bounded buffer may be called in the meantime, if the outer call is inline. Deliveries
  /// that name other modes are made if the run loop is in one of their modes.
  ///
  /// The run loop is not retained. When its thread ends, waiting and later deliveries are
  /// discarded, and counted in ``discardedDeliveryCount``.
  ///
  /// No observer is called while the run loop does not run. On Linux, the main run loop does not
  /// run in a program with an asynchronous `main`, nor in Swift Testing, so use `queue(.main)` there.
  ///
  /// - Parameters:
  ///   - runLoop: The run loop. Pass it on its own thread, or pass `.main`. If it was passed on
  ///     another thread, the end of its thread is noticed only if the run loop has run a delivery
  ///     before.
  ///   - modes: The modes in which deliveries run, by default the common modes. An empty list is a
  ///     precondition failure.
  ///   - buffering: How many notifications wait for an observer that is behind.
  ///   - isOrdered: Whether it always queues.
  public static func runLoop(
    _ runLoop: RunLoop, modes: [RunLoop.Mode] = [.common], buffering: Buffering = .unbounded,
    ordered isOrdered: Bool = false
  ) -> Delivery {
    .target(
      RunLoopTarget.of(runLoop, modes: modes), buffering: buffering, ordered: isOrdered)
  }

  /// On a thread, through its run loop in the common modes.
  ///
  /// ```swift
  /// center.observe(TrackChanged.self, owner: self, on: .thread(.current)) { … }
  /// ```
  ///
  /// With `.current`, observers run on the thread that registers them. The thread must run its run
  /// loop, as in `RunLoop.current.run()`. Deliveries behave as with
  /// ``runLoop(_:modes:buffering:ordered:)``.
  ///
  /// You can always pass the current thread and the main thread. Any other thread must have called
  /// `Delivery.thread(.current)` itself before, because Foundation does not expose the run loop of
  /// another thread; otherwise this is a precondition failure.
  ///
  /// - Parameters:
  ///   - thread: The thread.
  ///   - buffering: How many notifications wait for an observer that is behind.
  ///   - isOrdered: Whether it always queues.
  public static func thread(
    _ thread: Thread, buffering: Buffering = .unbounded, ordered isOrdered: Bool = false
  ) -> Delivery {
    .target(RunLoopTarget.of(thread), buffering: buffering, ordered: isOrdered)
  }

  /// The number of deliveries that were discarded because their place ended while they waited, or
  /// had ended before.
  ///
  /// It counts the deliveries of all observers at the place, except observers with their own
  /// buffer, whose losses are in the `droppedCount` of their registrations. The number is always 0
  /// for `.immediate`.
  public var discardedDeliveryCount: Int { mailbox?.discardedCount ?? 0 }
}
