internal import Campanile

/// Keeps one observer of an object that stays in one isolation.
///
/// Releasing the token ends the observation.
///
/// It stays in the isolation of the object, like the observer. Keep it in a property. A token in a
/// local constant ends the observation at the last use of the constant. A token that is not stored
/// ends it at once.
public final class KVOToken {
  private let token: ObservationToken

  init(_ registration: Registration) { token = ObservationToken(registration) }

  /// Ends the observation now.
  ///
  /// A second call does nothing.
  public func cancel() { token.cancel() }

  /// Skips changes until ``resume()`` has been called as often as this method.
  public func pause() { token.pause() }

  /// Reverses one ``pause()``.
  public func resume() { token.resume() }

  /// Whether changes are being skipped.
  public var isPaused: Bool { token.isPaused }

  /// Whether the observation has not ended.
  public var isActive: Bool { token.isActive }
}

@available(*, unavailable)
extension KVOToken: Sendable {}
