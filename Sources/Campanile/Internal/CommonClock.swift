import Synchronization

/// A clock that several registries share, so that their times can be compared.
final class CommonClock: Sendable {
  private let time = Atomic<UInt64>(0)

  /// The newest time that any registry has taken.
  var now: UInt64 {
    // No pair: an upper bound of what the asking thread can know of; `show` publishes the rest.
    time.load(ordering: .acquiring)
  }

  func next() -> UInt64 {
    // No pair: a time is taken once; `show` publishes what it was taken for.
    time.wrappingAdd(1, ordering: .relaxed).newValue
  }
}
