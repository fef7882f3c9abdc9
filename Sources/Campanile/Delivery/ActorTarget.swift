/// An actor as a place where observers run.
///
/// The actor is held weakly: it is the owner of the registrations on it. Everybody who names one
/// actor gets one target, found in a table that keeps neither.
final class ActorTarget: DeliveryTarget {
  /// The targets that have been named so far; tests check its size.
  static let table = Locked(WeakTable<ObjectIdentifier, ActorTarget>())

  let mailbox = Mailbox()
  let deliveryName: String
  private weak let instance: (any Actor)?

  private init(_ instance: any Actor) {
    self.instance = instance
    deliveryName = "actor \(type(of: instance))"
  }

  static func of(_ instance: any Actor) -> ActorTarget {
    let new = ActorTarget(instance)
    // The targets that were examined are released outside the lock: this may be their last reference.
    let (target, seen) = table.withLock { table -> (ActorTarget, [ActorTarget]) in
      let id = ObjectIdentifier(instance)
      let known = table[id]
      // The address may have been another actor's, which has gone then.
      if let known, known.instance != nil { return (known, []) }
      return (new, table.insert(new, for: id) + [known].compactMap { $0 })
    }
    withExtendedLifetime(seen) {}
    return target
  }

  func enqueue(_ job: DeliveryJob) {
    // The task does not keep the actor until it starts; from then on it does, also while it waits
    // for the actor's turn. Released without having run, the job discards what is waiting, and ends
    // the registrations of the actor that has died.
    // Detached: what the poster's task is part of says nothing about the observers here.
    Task.detached(priority: job.priority) { [weak instance] in
      if let instance { await instance.run(job) }
    }
  }
}

extension Actor {
  fileprivate func run(_ job: DeliveryJob) { job.run() }
}
