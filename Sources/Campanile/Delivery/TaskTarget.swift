/// An actor or an executor as a place where observers run, in tasks.
///
/// All uses of one share one target, which is found in a table that retains neither.
final class TaskTarget: DeliveryTarget {
  /// The targets that have been named so far; tests check its size.
  static let table = Locked(WeakTable<Key, TaskTarget>())

  /// An object, and what it is used as: one object can be an executor of both kinds.
  struct Key: Hashable {
    let object: ObjectIdentifier
    let use: Use
  }

  enum Use { case actor, taskExecutor, serialExecutor }

  let mailbox = Mailbox()
  let deliveryName: String
  /// Whether the actor has died: its address may be that of another one.
  ///
  /// A target keeps its executor, and so the executor's address.
  private let isOver: @Sendable () -> Bool
  /// Begins a task that runs a job.
  ///
  /// The task is detached, because the calls that the poster's task is part of say nothing about the
  /// observers here.
  private let start: @Sendable (DeliveryJob) -> Void

  private init(
    _ name: String, isOver: @escaping @Sendable () -> Bool = { false },
    _ start: @escaping @Sendable (DeliveryJob) -> Void
  ) {
    deliveryName = name
    (self.isOver, self.start) = (isOver, start)
  }

  /// The target does not retain the actor, which is the owner of the registrations on it.
  static func of<Instance: Actor>(_ instance: Instance) -> TaskTarget {
    let reference = OwnerReference(instance)
    let name = "actor \(type(of: instance))"
    let new = TaskTarget(name, isOver: { reference.object == nil }) { job in
      // The task retains the actor only from its start on, also while it waits for the actor's turn.
      // If the job is released without having run, it discards the waiting deliveries, and ends the
      // registrations of the actor that has died.
      Task.detached(priority: job.priority) {
        if let instance = reference.object { await instance.run(job) }
      }
    }
    return shared(instance, .actor, new)
  }

  /// Jobs may run at the same time there, but not those of one mailbox.
  static func of(_ executor: any TaskExecutor) -> TaskTarget {
    let new = TaskTarget(name(of: executor)) { job in
      Task.detached(executorPreference: executor, priority: job.priority) { job.run() }
    }
    return shared(executor, .taskExecutor, new)
  }

  /// The jobs run in an actor on the executor, as code that is isolated to that actor.
  static func of(_ executor: any SerialExecutor) -> TaskTarget {
    let actor = ExecutorActor(executor)
    let new = TaskTarget(name(of: executor)) { job in
      Task.detached(priority: job.priority) { await actor.run(job) }
    }
    return shared(executor, .serialExecutor, new)
  }

  private static func name(of executor: any Executor) -> String {
    ".executor(\(type(of: executor)))"
  }

  /// The target of an object, which is `new` if there was none.
  private static func shared(_ object: AnyObject, _ use: Use, _ new: TaskTarget) -> TaskTarget {
    table.shared(Key(object: ObjectIdentifier(object), use: use), or: new) { !$0.isOver() }
  }

  func enqueue(_ job: DeliveryJob) { start(job) }
}

extension Actor {
  fileprivate func run(_ job: DeliveryJob) { job.run() }
}
