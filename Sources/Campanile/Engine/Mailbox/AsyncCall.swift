import Synchronization

/// One call of an asynchronous observer, which the task that makes it knows by a task-local value.
///
/// Tasks that are created in a call know it too, and can outlive it.
final class AsyncCall: Sendable {
  /// The calls that the current task is or was part of, and those that wait for one of them.
  @TaskLocal private static var known: [AsyncCall] = []

  /// The mailbox of the observer.
  private let observer: Mailbox
  private let hasEnded = Atomic<Bool>(false)

  private init(of observer: Mailbox) { self.observer = observer }

  /// The calls that the current task is part of, and those that wait for one of them.
  ///
  /// A wait for a call ends with the call, though the waiting call may continue.
  static var running: [AsyncCall] { running(among: known) }

  private static func running(among calls: [AsyncCall]) -> [AsyncCall] {
    var running: [AsyncCall] = []
    for call in calls {
      // Pairs with `run`: what the call has done before its end.
      if call.hasEnded.load(ordering: .acquiring) { running = [] } else { running.append(call) }
    }
    return running
  }

  static var isInside: Bool { !running.isEmpty }

  /// Whether one of `calls`, as `running` gave them, is still a call of the observer.
  static func isRunning(of observer: DeliveryCounters, among calls: [AsyncCall]) -> Bool {
    running(among: calls).contains { $0.observer.counters === observer }
  }

  /// Refuses every later value of the observer that the current task calls: this is its only call.
  static func refuseOthers() { known.last?.observer.refuseOthers() }

  /// Runs `body` as a call of the observer with a mailbox.
  ///
  /// - Parameter waiters: The calls that continue when this one has returned.
  static func run(
    of observer: Mailbox, for waiters: [AsyncCall], _ body: () async -> Void
  ) async {
    let call = AsyncCall(of: observer)
    // Pairs with `running`.
    defer { call.hasEnded.store(true, ordering: .releasing) }
    await $known.withValue(waiters + [call]) { await body() }
  }
}
