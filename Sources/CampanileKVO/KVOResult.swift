public import Campanile

/// The result of a call to `observe` of a ``KVOController``.
public struct KVOResult: Sendable {
  /// Whether the observation was made.
  public enum Outcome: Sendable, Hashable {
    /// The observation was made, whether or not it is the first of its key path.
    case added
    /// The controller observes the key path already, and its policy is to keep that observation.
    case alreadyObserved
    /// The key path reads no property that can be observed, so the observer would never be called.
    ///
    /// One line on standard error says so, with file and line. The observation has ended. The
    /// initial call was made, if it was asked for.
    case nothingObserved
    /// The owner has died.
    case refused
  }

  /// Whether the observation was made.
  public let outcome: Outcome
  /// The observation: the new one, or the existing one.
  ///
  /// It has ended if the call was refused, or if there is nothing to observe.
  public let registration: Registration

  let text: ObservationTable.Entry.Text
}

extension KVOResult: CustomStringConvertible {
  /// The outcome, the key path, the owner, and the file and line of the observation, in one line.
  public var description: String {
    "\(outcome): \(text.objectType) \(text.path), owner \(text.ownerType) "
      + "(\(text.file):\(text.line))"
  }
}
