/// An actor as a place where observers run.
///
/// The actor is not retained, because it is the owner of the registrations on it. All uses of one
/// actor share one target, which is found in a table that retains neither.
final class ActorTarget: DeliveryTarget {
  /// The targets that have been named so far; tests check its size.
  static let table = Locked(WeakTable<ObjectIdentifier, ActorTarget>())

  let mailbox = Mailbox()
  let deliveryName: String
  private let reference: ActorReference

  private init(_ instance: any Actor) {
    reference = ActorReference(instance)
    deliveryName = "actor \(type(of: instance))"
  }

  static func of(_ instance: any Actor) -> ActorTarget {
    // The address may have been that of another actor, which has died since.
    table.shared(ObjectIdentifier(instance), or: ActorTarget(instance)) {
      $0.reference.instance != nil
    }
  }

  func enqueue(_ job: DeliveryJob) {
    // The task retains the actor only from its start on, also while it waits for the actor's turn.
    // If the job is released without having run, it discards the waiting deliveries, and ends the
    // registrations of the actor that has died. The task is detached, because the calls that the
    // poster's task is part of say nothing about the observers here.
    Task.detached(priority: job.priority) { [reference] in
      if let instance = reference.instance { await instance.run(job) }
    }
  }
}

extension Actor {
  fileprivate func run(_ job: DeliveryJob) { job.run() }
}
