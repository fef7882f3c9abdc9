@testable import Campanile

extension ObserverList {
  /// How many registrations have not ended.
  var count: Int { listed.count }

  /// The registrations that have not ended.
  var listed: [Registration] {
    registry.withState { _, held in
      parts(held).flatMap { $0.members(held) }.map(\.registration)
    }
  }
}

extension TopicList {
  /// How many subjects the table has places for.
  var capacity: Int { current?.entries.capacity ?? 0 }
}

extension ObserverRegistry {
  /// Whether memory that was replaced is kept for posts in progress.
  func keeps(_ memory: Entries?) -> Bool {
    withState { state in
      state.limbo.contains { list in
        list.objects.contains { ($0 as? Entries.Owner)?.entries.address == memory?.address }
      }
    }
  }
}

/// Runs `body` under a lock that nobody else has, for what asks that the lock of a registry is held.
func underLock<Result: Sendable>(_ body: (borrowing ObserverRegistry.Held) -> Result) -> Result {
  ObserverRegistry().withState { _, held in body(held) }
}
