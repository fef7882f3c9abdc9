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
  private let place: Place

  private enum Place {
    /// Not retained, because the actor is the owner of the registrations on it.
    case actor(ActorReference)
    /// Jobs may run at the same time there, but not those of one mailbox.
    case taskExecutor(any TaskExecutor)
    /// An actor on the executor; code that is isolated to the actor runs there.
    case serialExecutor(ExecutorActor)
  }

  private init(_ name: String, _ place: Place) {
    deliveryName = name
    self.place = place
  }

  static func of(_ instance: any Actor) -> TaskTarget {
    let name = "actor \(type(of: instance))"
    return shared(instance, .actor, TaskTarget(name, .actor(ActorReference(instance))))
  }

  static func of(_ executor: any TaskExecutor) -> TaskTarget {
    shared(executor, .taskExecutor, TaskTarget(name(of: executor), .taskExecutor(executor)))
  }

  static func of(_ executor: any SerialExecutor) -> TaskTarget {
    let place = Place.serialExecutor(ExecutorActor(executor))
    return shared(executor, .serialExecutor, TaskTarget(name(of: executor), place))
  }

  private static func name(of executor: any Executor) -> String {
    ".executor(\(type(of: executor)))"
  }

  /// The target of an object, which is `new` if there was none.
  private static func shared(_ object: AnyObject, _ use: Use, _ new: TaskTarget) -> TaskTarget {
    table.shared(Key(object: ObjectIdentifier(object), use: use), or: new) { !$0.isOver }
  }

  /// Whether the actor has died: its address may be that of another one.
  ///
  /// A target keeps its executor, and so the executor's address.
  private var isOver: Bool {
    if case .actor(let reference) = place { reference.instance == nil } else { false }
  }

  func enqueue(_ job: DeliveryJob) {
    // The tasks are detached, because the calls that the poster's task is part of say nothing about the
    // observers here.
    switch place {
    case .actor(let reference):
      // The task retains the actor only from its start on, also while it waits for the actor's turn.
      // If the job is released without having run, it discards the waiting deliveries, and ends the
      // registrations of the actor that has died.
      Task.detached(priority: job.priority) {
        if let instance = reference.instance { await instance.run(job) }
      }
    case .taskExecutor(let executor):
      Task.detached(executorPreference: executor, priority: job.priority) { job.run() }
    case .serialExecutor(let actor):
      Task.detached(priority: job.priority) { await actor.run(job) }
    }
  }
}

extension Actor {
  fileprivate func run(_ job: DeliveryJob) { job.run() }
}
