/// How many values wait for an observer or a reader that is behind.
///
/// What is dropped is counted: see ``Registration/droppedCount`` and
/// ``ValueSequence/droppedCount``.
///
/// A capacity below one is a precondition failure.
public enum Buffering: Sendable, Hashable {
  /// Everything waits. Memory grows for as long as values come faster than they are taken.
  case unbounded
  /// The newest values wait; a value that comes when there is no room pushes the oldest out.
  case newest(Int)
  /// The oldest values wait; a value that comes when there is no room is dropped.
  case oldest(Int)

  func checkCapacity() {
    switch self {
    case .unbounded: break
    case .newest(let capacity), .oldest(let capacity):
      precondition(
        capacity >= 1,
        "A buffer was asked for with room for \(capacity) values; it needs room for at least one")
    }
  }
}
