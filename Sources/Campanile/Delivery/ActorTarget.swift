/// An actor as a place where observers run.
///
/// The actor is held weakly: it is the owner of the registrations on it. Everybody who names one
/// actor gets one mailbox, found in a table that keeps neither the actor nor the mailbox.
final class ActorTarget: DeliveryTarget {
  private struct Known {
    weak var mailbox: Mailbox?
    weak var instance: (any Actor)?
  }

  private struct Table {
    var known: [ObjectIdentifier: Known] = [:]
    var purgeThreshold = 64
  }

  private static let table = Locked(Table())

  let mailbox: Mailbox
  let deliveryName: String
  private weak let instance: (any Actor)?

  init(_ instance: any Actor) {
    self.instance = instance
    deliveryName = "actor \(type(of: instance))"
    let new = Mailbox()
    // What a purge lets go of is empty by now: weak references alone keep nothing.
    mailbox = Self.table.withLock { table in
      let id = ObjectIdentifier(instance)
      // The address may have been another actor's: a known mailbox counts only with its actor alive.
      if let known = table.known[id], known.instance != nil, let mailbox = known.mailbox {
        return mailbox
      }
      if table.known.count >= table.purgeThreshold {
        table.known = table.known.filter { $0.value.mailbox != nil }
        table.purgeThreshold = max(64, table.known.count * 2)
      }
      table.known[id] = Known(mailbox: new, instance: instance)
      return new
    }
  }

  func enqueue(_ job: DeliveryJob) {
    // The task does not keep the actor before it runs there. Released without having run, the job
    // discards what is waiting, and ends the registrations of the actor that has died.
    // Detached: what the poster's task is part of says nothing about the observers here.
    Task.detached(priority: Task.currentPriority) { [weak instance] in
      await instance?.run(job)
    }
  }
}

extension Actor {
  fileprivate func run(_ job: DeliveryJob) { job.run() }
}
