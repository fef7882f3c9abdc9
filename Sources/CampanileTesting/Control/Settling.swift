import Campanile

/// Returns when what was posted before has been delivered on the main actor, with all that it caused
/// there.
///
/// ```swift
/// library.play("Aria")
/// await settle()
/// precondition(screen.title == "Aria")
/// ```
///
/// It waits for the observers on `.main` and `.queue(.main)`, and for the deliveries that these make
/// there in turn. It does not wait for tasks, for asynchronous observers, or for other queues; use
/// `postAndWait` or a ``Recorder`` for those. Deliveries of tests that run at the same time are waited
/// for, too.
public func settle() async {
  let main = MainDelivery.main(ordered: true).delivery
  repeat {
    await withCheckedContinuation { continuation in
      main.perform { continuation.resume() }
    }
  } while main.waitingCount > 0
}
