/// Marks the task that runs an asynchronous observer.
enum AsyncCall {
  /// The observers whose calls the current task is part of.
  @TaskLocal static var running: [DeliveryCounters] = []

  static var isInside: Bool { !running.isEmpty }

  static func isCurrent(_ counters: DeliveryCounters) -> Bool {
    running.contains { $0 === counters }
  }
}
