@testable import Campanile

extension ObserverList {
  /// How many registrations have not ended.
  var count: Int { listed.count }

  /// The registrations that have not ended.
  var listed: [Registration] {
    registry.withState { _, held in registrations(held).map(\.registration) }
  }
}

extension SubjectIndex {
  /// How many subjects the table has places for.
  var capacity: Int { current?.capacity ?? 0 }
}

/// Runs `body` under a lock that nobody else has, for what asks that the lock of a registry is held.
func underLock<Result: Sendable>(_ body: (borrowing ObserverRegistry.Held) -> Result) -> Result {
  ObserverRegistry().withState { _, held in body(held) }
}
