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
/// | ``queue(_:buffering:ordered:)`` | that queue | if the poster is on it and nothing waits or runs there |
/// | ``executor(_:buffering:)-(TaskExecutor,_)``, ``executor(_:buffering:)-(SerialExecutor,_)`` | that executor | no |
/// | ``target(_:buffering:ordered:)`` | a place of your own | if ``DeliveryTarget/isCurrent`` is true and nothing waits or runs there |
///
/// With `ordered: true`, a delivery always queues, so the observer never runs before the post returns,
/// and runs after the others that receive the post on its target.
/// With `buffering:`, the observer has its own bounded buffer for the values that wait while it is
/// behind. Then its delivery always queues, too, and its order relative to the other observers there
/// is not promised.
///
/// The observers on one target are called one at a time, and receive the messages of all threads in one
/// order. Those with `ordered: true` have an order of their own, because a post queues for them apart,
/// and so has each observer with a bounded buffer. Immediate and queued observers of one post have no
/// order between them. The poster does not wait for a queued delivery, which is checked again when its
/// turn comes, so nothing arrives after the registration or its owner has ended. A burst of messages
/// wakes the target once.
///
/// Because a post queues while something runs there, a message that an observer on a target posts
/// is delivered on that target after this observer has returned, and not inside it.
///
/// For an observer that is isolated to the main actor, see ``MainDelivery``. To run on an actor,
/// pass the actor itself.
public struct Delivery: Sendable, CustomStringConvertible {
  /// One word, which each registration copies; `nil` for `immediate`.
  private let place: Place?

  private final class Place: Sendable {
    let target: (any DeliveryTarget)?
    let isOrdered: Bool
    let buffering: Buffering

    init(_ target: (any DeliveryTarget)?, _ buffering: Buffering, isOrdered: Bool) {
      buffering.checkCapacity()
      (self.target, self.buffering, self.isOrdered) = (target, buffering, isOrdered)
    }
  }

  /// Whether it has no target and no buffer, and queues nothing.
  var isPlain: Bool { place == nil }
  var target: (any DeliveryTarget)? { place?.target }
  var isOrdered: Bool { place?.isOrdered ?? false }
  var buffering: Buffering { place?.buffering ?? .unbounded }

  private init() { place = nil }

  private init(
    target: (any DeliveryTarget)?, buffering: Buffering = .unbounded, isOrdered: Bool = false
  ) {
    place = Place(target, buffering, isOrdered: isOrdered)
  }

  /// On an actor, for an observer that is isolated to it.
  static func actor(_ instance: some Actor, _ buffering: Buffering) -> Delivery {
    Delivery(target: TaskTarget.of(instance), buffering: buffering)
  }

  /// In tasks, for an asynchronous observer.
  static func asynchronous(_ buffering: Buffering) -> Delivery {
    Delivery(target: nil, buffering: buffering)
  }

  /// On the thread that posts, before the post returns, in the order of registration.
  public static let immediate = Delivery()

  /// On `queue`, which is retained for as long as the registration lives.
  ///
  /// Runs inline when the poster is on `queue` and no delivery is waiting or running there. A queue
  /// that targets `queue` counts as `queue`, if it was never passed to this method itself. On a
  /// global queue it always queues. On a concurrent queue the unbounded observers run one at a
  /// time. `.queue(.main)` delivers to the same target as ``MainDelivery/main``, to an observer that is
  /// not isolated.
  public static func queue(
    _ queue: DispatchQueue, buffering: Buffering = .unbounded, ordered isOrdered: Bool = false
  ) -> Delivery {
    // On Linux, each `DispatchQueue.main` is another object. The main queue's mailbox has its own pace.
    let (main, named) = (QueueTarget.main, QueueTarget(queue))
    let target = named.mailbox === main.mailbox ? main : named
    return Delivery(target: target, buffering: buffering, isOrdered: isOrdered)
  }

  /// On a task executor, which is retained for as long as the registration lives.
  ///
  /// Always queues. The unbounded observers run one at a time, even if the executor has many
  /// threads.
  public static func executor(
    _ executor: any TaskExecutor, buffering: Buffering = .unbounded
  ) -> Delivery {
    Delivery(target: TaskTarget.of(executor), buffering: buffering)
  }

  /// On a serial executor, which is retained for as long as the registration lives.
  ///
  /// Always queues. Code that is isolated to an actor on this executor does not run during a call.
  public static func executor(
    _ executor: any SerialExecutor, buffering: Buffering = .unbounded
  ) -> Delivery {
    Delivery(target: TaskTarget.of(executor), buffering: buffering)
  }

  /// On your own target, which is retained for as long as the registration lives.
  public static func target(
    _ target: any DeliveryTarget, buffering: Buffering = .unbounded,
    ordered isOrdered: Bool = false
  ) -> Delivery {
    Delivery(target: target, buffering: buffering, isOrdered: isOrdered)
  }

  /// Unavailable: nothing waits for an immediate observer.
  @available(
    *, unavailable,
    message: """
      An immediate observer is called at once and keeps nothing waiting: name a place for it, such as \
      .queue(queue, buffering: .newest(4))
      """
  )
  public static func immediate(buffering: Buffering) -> Delivery { .immediate }

  /// The same delivery, which always queues.
  package var ordered: Delivery {
    Delivery(target: target, buffering: buffering, isOrdered: true)
  }

  /// The same delivery, with a buffer for the observer.
  package func buffered(_ buffering: Buffering) -> Delivery {
    Delivery(target: target, buffering: buffering, isOrdered: isOrdered)
  }

  /// The number of messages that wait for this place, from all sources.
  ///
  /// A message counts once for the observers with `ordered: true` and once for all others. Messages in
  /// an observer's own buffer are counted by its ``Registration/waitingCount``. The number is always 0
  /// for immediate delivery.
  public var waitingCount: Int { target?.mailbox.waitingCount ?? 0 }

  /// The name of the delivery in descriptions.
  public var description: String {
    guard let target else { return ".immediate" }
    return target.deliveryName + (isOrdered ? ", ordered" : "")
  }
}
