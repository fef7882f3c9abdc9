public import Dispatch

/// Where an observer runs.
///
/// ```swift
/// center.observe(TrackChanged.self, owner: self, on: .queue(decoder)) { track, message in … }
/// ```
///
/// | delivery | where | before the post returns? |
/// |---|---|---|
/// | ``immediate`` | the thread that posts | yes |
/// | ``mainQueue`` | the main queue | if the poster is on it and nothing waits or runs there |
/// | ``queue(_:)`` | that queue | if the poster is on it and nothing waits or runs there |
/// | ``executor(_:)-(TaskExecutor)``, ``executor(_:)-(SerialExecutor)`` | that executor | no |
/// | ``target(_:)`` | a place of your own | if ``DeliveryTarget/isCurrent`` is true and nothing waits or runs there |
/// | ``ordered``, of any but ``immediate`` | the same place | no |
///
/// The observers on one target receive the messages of all threads in one order, and one at a time,
/// except that an observer with a bounded buffer has its own order. Immediate and queued observers of
/// one post have no order between them. The poster does not wait for a queued delivery, which is
/// checked again when its turn comes, so nothing arrives after the registration or its owner has
/// ended. A burst of messages wakes the target once.
///
/// Because a post queues while something runs there, a message that an observer on a target posts
/// is delivered on that target after this observer has returned, and not inside it.
///
/// For an observer that is isolated to the main actor, see ``MainDelivery``. To run on an actor,
/// pass the actor itself.
public struct Delivery: Sendable, CustomStringConvertible {
  /// `nil` for immediate delivery.
  let target: (any DeliveryTarget)?
  let isOrdered: Bool

  /// On the thread that posts, before the post returns, in the order of registration.
  public static let immediate = Delivery(target: nil, isOrdered: false)

  /// On the main queue, for an observer that is not isolated.
  ///
  /// Runs inline when the poster is on the main queue or the main actor and no delivery is waiting or
  /// running there.
  public static let mainQueue = Delivery(target: QueueTarget.main, isOrdered: false)

  /// On `queue`, which is retained for as long as the registration lives.
  ///
  /// Runs inline when the poster is on `queue` and no delivery is waiting or running there. A queue
  /// that targets `queue` counts as `queue`, if it was never passed to this method itself. On a
  /// global queue it always queues. On a concurrent queue the unbounded observers run one at a
  /// time.
  public static func queue(_ queue: DispatchQueue) -> Delivery {
    // It may be the main queue, whose mailbox has a pace of its own.
    _ = QueueTarget.main
    return Delivery(target: QueueTarget(queue), isOrdered: false)
  }

  /// On a task executor, which is retained for as long as the registration lives.
  ///
  /// Always queues. The unbounded observers run one at a time, even if the executor has many
  /// threads.
  public static func executor(_ executor: any TaskExecutor) -> Delivery {
    Delivery(target: ExecutorTarget.of(executor), isOrdered: false)
  }

  /// On a serial executor, which is retained for as long as the registration lives.
  ///
  /// Always queues. Code that is isolated to an actor on this executor does not run during a call.
  public static func executor(_ executor: any SerialExecutor) -> Delivery {
    Delivery(target: ExecutorTarget.of(executor), isOrdered: false)
  }

  /// On your own target, which is retained for as long as the registration lives.
  public static func target(_ target: any DeliveryTarget) -> Delivery {
    Delivery(target: target, isOrdered: false)
  }

  /// This place with a queue before it: the observer never runs before the post returns.
  ///
  /// Immediate delivery has no queue, so asking for its ordered form is a precondition failure.
  public var ordered: Delivery {
    require(target != nil, "An immediate delivery has no queue and cannot be ordered by one")
    return Delivery(target: target, isOrdered: true)
  }

  /// The number of messages that wait for this place, from all sources.
  ///
  /// A message counts once, however many observers it is for. Messages in an observer's own buffer
  /// are counted by its ``Registration/waitingCount``. The number is always 0 for immediate
  /// delivery.
  public var waitingCount: Int { target?.mailbox.waitingCount ?? 0 }

  /// The name of the delivery in descriptions.
  public var description: String {
    guard let target else { return ".immediate" }
    return target.deliveryName + (isOrdered ? ".ordered" : "")
  }
}
