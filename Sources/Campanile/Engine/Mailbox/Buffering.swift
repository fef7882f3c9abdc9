/// How many values wait for an observer or a sequence that is behind.
///
/// Dropped values are counted in ``Registration/droppedCount``.
///
/// A capacity below one is a precondition failure.
public enum Buffering: Sendable, Hashable {
  /// All values wait.
  ///
  /// Memory grows for as long as values arrive faster than they are taken.
  case unbounded
  /// The newest values wait; a value that arrives at a full buffer replaces the oldest.
  case newest(Int)
  /// The oldest values wait; a value that arrives at a full buffer is dropped.
  case oldest(Int)

  func checkCapacity() {
    switch self {
    case .unbounded: break
    case .newest(let capacity), .oldest(let capacity):
      require(
        capacity >= 1,
        "A buffer was asked for with room for \(capacity) values; it needs room for at least one")
    }
  }
}
