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
    let new = ActorTarget(instance)
    // The targets that were examined are released outside the lock: this may be their last reference.
    let (target, seen) = table.withLock { table -> (ActorTarget, [ActorTarget]) in
      let id = ObjectIdentifier(instance)
      let known = table[id]
      // The address may have been that of another actor, which has died since.
      if let known, known.reference.instance != nil { return (known, []) }
      return (new, table.insert(new, for: id) + [known].compactMap { $0 })
    }
    withExtendedLifetime(seen) {}
    return target
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
