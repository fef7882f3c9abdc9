extension Delivery {
  /// Whether this is `.immediate`, which has no place.
  package var isImmediate: Bool { target == nil }

  /// The deliveries that wait at the place, or `nil` for `.immediate`.
  package var mailbox: Mailbox? { target?.mailbox }

  /// Whether the calling code runs at the place.
  package var isCurrent: Bool { target?.isCurrent ?? false }

  /// Runs `action` once at the place, after the jobs that are enqueued there now.
  ///
  /// All waiting deliveries are one job. After 1,024 deliveries the job yields the place and is
  /// enqueued again at the end. On the main queue it also yields after a few milliseconds. The
  /// remaining deliveries run after `action`. A place that runs several jobs at a time, such as a
  /// concurrent queue, may run `action` at the same time as them. The caller's priority does not
  /// move `action` before earlier jobs.
  ///
  /// If the place ends first, `action` is released without having run. For `.immediate`, this is a
  /// precondition failure.
  package func perform(_ action: @escaping @Sendable () -> Void) {
    guard let target else {
      misuse("An immediate delivery has no place where anything could run later")
    }
    target.enqueue(DeliveryJob(Mailbox(), .medium, on: target, action))
  }
}
