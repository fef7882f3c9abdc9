public import Campanile
public import Foundation

extension Delivery {
  /// On an operation queue, which is retained for as long as the registration lives.
  ///
  /// ```swift
  /// center.observe(TrackChanged.self, owner: self, on: .operationQueue(decoding)) { … }
  /// ```
  ///
  /// Runs inline when the poster is in an operation of that queue and nothing is waiting there. A
  /// burst of messages becomes one operation. On a queue that runs many operations at once the
  /// unbounded observers still run one at a time. While the queue is suspended, deliveries wait;
  /// `cancelAllOperations()` discards those that wait, and counts them.
  ///
  /// The main operation queue is `mainQueue`.
  public static func operationQueue(_ queue: OperationQueue) -> Delivery {
    if queue === OperationQueue.main { return .mainQueue }
    return .target(OperationQueueTarget.of(queue))
  }

  /// On a run loop, in the given modes.
  ///
  /// ```swift
  /// center.observe(TrackChanged.self, owner: self, on: .runLoop(.main)) { … }
  /// ```
  ///
  /// Runs inline when the poster is on the run loop's thread and nothing is waiting there, whatever
  /// the mode; its `ordered` form always waits for a turn in one of the modes. All observers of one
  /// run loop in the same modes share one source, which wakes it: a burst wakes it once, and what
  /// came is kept here, so that a wake-up that is lost in another one loses no message.
  ///
  /// The source stays on the run loop until the thread ends; so `run()` does not return for want of
  /// sources, and `run(mode:before:)` waits until its date unless something comes. A run loop that
  /// an observer runs inside its call has no delivery of the same modes until that call has
  /// returned, as a main queue has none: deliveries never overlap. The run loop is not retained.
  /// When its thread ends, what is waiting is discarded and counted, and so is what comes later:
  /// see ``discardedDeliveryCount``.
  ///
  /// Nothing is delivered on a run loop that nobody runs. On Linux that is the main one in a program
  /// with an asynchronous `main`, and in Swift Testing: use `mainQueue` there.
  ///
  /// - Parameters:
  ///   - runLoop: The run loop; pass it on its own thread, or `.main`. One that was passed on
  ///     another thread is known to have ended only if it has run a delivery before.
  ///   - modes: The modes in which deliveries run; the common ones by default. An empty list is a
  ///     precondition failure.
  public static func runLoop(_ runLoop: RunLoop, modes: [RunLoop.Mode] = [.common]) -> Delivery {
    .target(RunLoopTarget.of(runLoop, modes: modes))
  }

  /// On a thread, by its run loop in the common modes.
  ///
  /// ```swift
  /// center.observe(TrackChanged.self, owner: self, on: .thread(.current)) { … }
  /// ```
  ///
  /// Delivers where the observer was registered, if that is `.current`. The thread must run its run
  /// loop, as in `RunLoop.current.run()`. As ``runLoop(_:modes:)``.
  ///
  /// Foundation does not tell the run loop of another thread: besides the current thread and the
  /// main one, a thread can be named from elsewhere once it has called `Delivery.thread(.current)`
  /// itself. Any other is a precondition failure.
  public static func thread(_ thread: Thread) -> Delivery {
    .target(RunLoopTarget.of(thread))
  }

  /// How many deliveries were discarded because the place ended with them waiting, or had ended.
  ///
  /// Counts for all observers at the place together, but not for those that have a buffer of their
  /// own: what these lose is in the `droppedCount` of their registrations. Always 0 for
  /// `.immediate`.
  public var discardedDeliveryCount: Int { mailbox?.discardedCount ?? 0 }
}
