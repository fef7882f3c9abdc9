/// Keeps one observer registered; releasing the token ends the registration.
///
/// ```swift
/// self.token = center.observe(TrackChanged.self) { print($0.title) }
/// self.token = nil  // hears nothing from here on
/// ```
///
/// Keep it in a property. A local constant ends the observation at its last use, and a dropped result
/// at once, which is why the compiler warns of one. All methods are safe from any thread and from
/// inside the observer.
public final class ObservationToken: Sendable {
  /// The same registration without the power to end by being released.
  public let registration: Registration

  /// Creates a token that ends `registration` when it is released.
  public init(_ registration: Registration) {
    self.registration = registration
  }

  deinit { registration.list.registry.end(registration.id, in: registration.list) }

  /// Ends the registration now; see ``Registration/cancel()``.
  ///
  /// A second call does nothing.
  @discardableResult
  public func cancel() -> Registration.Cancellation { registration.cancel() }

  /// Ends the registration and blocks until no call is running; see ``Registration/cancelAndWait()``.
  @available(*, noasync, message: "Use cancelAndFinish(), which suspends instead of blocking")
  @discardableResult
  public func cancelAndWait() -> Registration.Wait { registration.cancelAndWait() }

  /// Ends the registration and suspends until no call is running.
  @discardableResult
  public func cancelAndFinish() async -> Registration.Wait { await registration.cancelAndFinish() }

  /// Skips deliveries until ``resume()`` has been called as often.
  public func pause() { registration.pause() }

  /// Takes one ``pause()`` back.
  public func resume() { registration.resume() }

  /// Whether deliveries are being skipped.
  public var isPaused: Bool { registration.isPaused }

  /// Whether the registration has not ended.
  public var isActive: Bool { registration.isActive }

  /// Hands the token to `bag`, which keeps it.
  public func store(in bag: TokenBag) { bag.insert(self) }
}
