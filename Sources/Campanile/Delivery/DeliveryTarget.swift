/// A place where observers run: a queue, a thread, an event loop.
///
/// Conform a class to it to deliver somewhere of your own, and pass it with
/// ``Delivery/target(_:)``:
///
/// ```swift
/// final class Loop: DeliveryTarget {
///   let mailbox = Mailbox()
///   func enqueue(_ job: DeliveryJob) { myEventLoop.execute { job.run() } }
/// }
/// ```
///
/// A target runs jobs one at a time. `enqueue(_:)` is called on the thread that posts, once for
/// many messages, with no lock held; it must not block and not run the job itself. A message that is
/// more urgent than the jobs on their way brings one more job, at its own
/// ``DeliveryJob/priority``; a target that has priorities runs that one earlier. A job that is
/// released without having run, because the target has ended, discards what was waiting and counts
/// it.
///
/// A job delivers 1,024 messages at most, each to all its observers there. On the main queue it begins
/// no message after four milliseconds. What is left keeps its place, and another job is enqueued for it.
public protocol DeliveryTarget: AnyObject, Sendable {
  /// What waits for this target. Store `Mailbox()` in a `let`: one target, one mailbox.
  var mailbox: Mailbox { get }

  /// Arranges for `job` to run soon, after the jobs enqueued before it and not beside one.
  func enqueue(_ job: DeliveryJob)

  /// Whether the calling code runs on this target. The default says no, so that everything queues.
  var isCurrent: Bool { get }

  /// What descriptions call this target.
  var deliveryName: String { get }
}

extension DeliveryTarget {
  public var isCurrent: Bool { false }
  public var deliveryName: String { "\(type(of: self))" }
}
