import Dispatch

/// A dispatch queue as a place where observers run.
///
/// The mailbox is stored in the queue's specific data. So all deliveries to one queue share a
/// mailbox, which lives as long as the queue, and code can check whether it runs there.
final class QueueTarget: DeliveryTarget {
  private static let key = DispatchSpecificKey<Mailbox>()
  private static let creation = Locked(())

  static let main = QueueTarget(.main, name: ".main", clock: { Platform.now })

  let mailbox: Mailbox
  let deliveryName: String
  private let queue: DispatchQueue
  /// Whether it is one of the system's global queues.
  private let isGlobal: Bool

  /// - Parameter clock: That of the mailbox, if the queue is named for the first time.
  init(_ queue: DispatchQueue, name: String? = nil, clock: DrainBudget.Clock? = nil) {
    self.queue = queue
    isGlobal = queue.label.hasPrefix("com.apple.root.")
    deliveryName = name ?? ".queue(\(queue.label))"
    mailbox = Self.creation.withLock { _ in
      if let mailbox = queue.getSpecific(key: Self.key) { return mailbox }
      let mailbox = Mailbox(nil, clock: clock)
      queue.setSpecific(key: Self.key, value: mailbox)
      return mailbox
    }
  }

  /// True on the queue itself, and on a queue that targets it and was never named here.
  ///
  /// On a global queue it is false: on Linux, all concurrent queues target one, and so do most tasks and
  /// actors.
  var isCurrent: Bool { !isGlobal && DispatchQueue.getSpecific(key: Self.key) === mailbox }

  func enqueue(_ job: DeliveryJob) {
    // The block has the quality of service of the code that enqueues it, which is the poster's. It keeps
    // this target: others of the same queue share the mailbox, and want their turns.
    queue.async { [self] in
      job.run()
      withExtendedLifetime(self) {}
    }
  }
}
