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

  /// What becomes of a value that comes.
  enum Admission {
    /// There is room.
    case free
    /// It takes the place of the oldest that waits.
    case inExchange
    /// There is no room for it.
    case refused
  }

  /// - Parameter count: How many values wait.
  @inline(__always)
  func admission(beside count: Int) -> Admission {
    switch self {
    case .unbounded: .free
    case .newest(let capacity): count < capacity ? .free : .inExchange
    case .oldest(let capacity): count < capacity ? .free : .refused
    }
  }

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
