/// A place where observers run: a queue, a thread, an event loop.
///
/// To deliver to your own event loop or thread, conform a class to this protocol and pass it with
/// ``Delivery/target(_:buffering:ordered:)``:
///
/// ```swift
/// final class Loop: DeliveryTarget {
///   let mailbox = Mailbox()
///   func enqueue(_ job: DeliveryJob) { myEventLoop.execute { job.run() } }
/// }
/// ```
///
/// A target runs jobs one at a time. `enqueue(_:)` is called once for many messages: on the thread
/// that posts, or inside `run()` for the messages that a job has left. The library holds no lock
/// during the call. The method must not block, and must not run the job itself.
///
/// A message that is more urgent than the enqueued jobs causes one more job, with its own
/// ``DeliveryJob/priority``, which a target with priorities runs earlier. If one of the enqueued
/// jobs is `.high` or above, no job is added.
///
/// If the target ends, it releases its jobs without running them, which discards the waiting
/// deliveries. They are counted in ``Mailbox/discardedCount``, or in ``Registration/droppedCount``
/// of an observer with a bounded buffer.
///
/// A job delivers 1,024 messages at most, each to all its observers on the target; for those with
/// `ordered: true` it counts once more. On the main queue it begins no message after four
/// milliseconds. The remaining messages keep their order, and another job is enqueued for them.
///
/// A post stores one record for each target on which it has observers, or two if some of them have
/// `ordered: true`. A source copies the list of its targets when the first observer on a target is
/// registered, and when the last one ends, so these two cost O(*n*) in the number of targets.
public protocol DeliveryTarget: AnyObject, Sendable {
  /// The deliveries that wait for this target.
  ///
  /// Store `Mailbox()` in a `let`. Each target has its own mailbox.
  var mailbox: Mailbox { get }

  /// Arranges for `job` to run soon, and never at the same time as another job.
  ///
  /// It runs after earlier jobs of the same or a higher priority.
  func enqueue(_ job: DeliveryJob)

  /// Whether the calling code runs on this target.
  ///
  /// A post that has observers on this target reads it on the posting thread, while no lock is
  /// held, if nothing waits here. If it is true, the observers run inline, before the post returns.
  /// So a wrong `true` runs observers on a wrong thread, where they may race with other code of the
  /// target; a wrong `false` only costs time, because the delivery queues. The default is false.
  var isCurrent: Bool { get }

  /// The name of this target in descriptions.
  var deliveryName: String { get }
}

extension DeliveryTarget {
  public var isCurrent: Bool { false }
  public var deliveryName: String { "\(type(of: self))" }
}
