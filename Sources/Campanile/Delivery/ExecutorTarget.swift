/// An executor as a place where observers run.
///
/// All uses of one executor of one kind share one target, which is found in a table that does not
/// retain it.
final class ExecutorTarget: DeliveryTarget {
  /// The targets that have been named so far; tests check its size.
  static let table = Locked(WeakTable<Key, ExecutorTarget>())

  /// An executor, and which of its two kinds is meant: one object can be of both.
  struct Key: Hashable {
    let executor: ObjectIdentifier
    let isSerial: Bool
  }

  let mailbox = Mailbox()
  let deliveryName: String
  private let place: Place

  private enum Place {
    /// Jobs may run at the same time there, but not those of one mailbox.
    case task(any TaskExecutor)
    /// An actor on the executor; code that is isolated to the actor runs there.
    case serial(ExecutorActor)
  }

  private init(_ executor: any Executor, _ place: Place) {
    deliveryName = ".executor(\(type(of: executor)))"
    self.place = place
  }

  static func of(_ executor: any TaskExecutor) -> ExecutorTarget {
    shared(executor, isSerial: false, .task(executor))
  }

  static func of(_ executor: any SerialExecutor) -> ExecutorTarget {
    shared(executor, isSerial: true, .serial(ExecutorActor(executor)))
  }

  /// The target of an executor; a target that lives keeps its executor, and so its address.
  private static func shared(
    _ executor: any Executor, isSerial: Bool, _ place: Place
  ) -> ExecutorTarget {
    table.shared(
      Key(executor: ObjectIdentifier(executor), isSerial: isSerial),
      or: ExecutorTarget(executor, place))
  }

  func enqueue(_ job: DeliveryJob) {
    switch place {
    case .task(let executor):
      Task.detached(executorPreference: executor, priority: job.priority) { job.run() }
    case .serial(let actor):
      Task.detached(priority: job.priority) { await actor.run(job) }
    }
  }
}
