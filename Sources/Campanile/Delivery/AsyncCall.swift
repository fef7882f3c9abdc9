import Synchronization

/// One call of an asynchronous observer, as the task knows it that makes it.
///
/// Tasks that are made in a call know it too, and can outlive it.
final class AsyncCall: Sendable {
  /// The calls that the current task is or was part of, and those that wait for one of them.
  @TaskLocal private static var known: [AsyncCall] = []

  private let observer: DeliveryCounters
  private let hasEnded = Atomic<Bool>(false)

  private init(of observer: DeliveryCounters) { self.observer = observer }

  /// The calls that the current task is part of, and those that wait for one of them.
  static var running: [AsyncCall] { known.filter { !$0.hasEnded.load(ordering: .acquiring) } }

  static var isInside: Bool { !running.isEmpty }

  static func isCurrent(_ observer: DeliveryCounters) -> Bool {
    running.contains { $0.observer === observer }
  }

  /// Runs `body` as a call of `observer`.
  ///
  /// - Parameter waiters: The calls that go on when this one has returned.
  static func run(
    of observer: DeliveryCounters, for waiters: [AsyncCall], _ body: () async -> Void
  ) async {
    let call = AsyncCall(of: observer)
    defer { call.hasEnded.store(true, ordering: .releasing) }
    await $known.withValue(waiters + [call]) { await body() }
  }
}
