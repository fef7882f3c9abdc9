import Synchronization

/// Keeps one observer registered; releasing the token ends the registration.
///
/// ```swift
/// self.token = center.observe(TrackChanged.self) { print($0.title) }
/// self.token = nil  // hears nothing from here on
/// ```
///
/// Keep the token in a property. A token in a local constant ends the observation at the last use
/// of the constant, and a token that is not stored ends it at once, so the compiler warns about an
/// unused result. All methods are safe from any thread and from inside the observer.
public final class ObservationToken: Sendable {
  private let list: ObserverList
  private let counters: DeliveryCounters?
  /// The identifier, and in its highest bit whether the release of the token is to end nothing.
  private let state: Atomic<UInt64>

  private static let endedBit: UInt64 = 1 << 63

  /// A handle to the same registration; releasing the handle does not end it.
  public var registration: Registration {
    let id = state.load(ordering: .relaxed) & ~Self.endedBit
    return Registration(list: list, id: id, counters: counters)
  }

  /// Creates a token that ends `registration` when it is released.
  public init(_ registration: consuming Registration) {
    list = registration.list
    counters = registration.counters
    state = Atomic(registration.id)
  }

  deinit {
    let state = state.load(ordering: .relaxed)
    if state & Self.endedBit == 0 { _ = list.end(state, counters) }
  }

  /// Ends the registration now; see ``Registration/cancel()``.
  ///
  /// A second call does nothing.
  @discardableResult
  public func cancel() -> Registration.Cancellation {
    let id = state.load(ordering: .relaxed) & ~Self.endedBit
    defer { state.store(id | Self.endedBit, ordering: .relaxed) }
    return list.end(id, counters)
  }

  /// Leaves the registration to a bag: the release of the token does not end it.
  func disarm() {
    // No pair: the release of the token comes after all other uses.
    state.bitwiseOr(Self.endedBit, ordering: .relaxed)
  }

  /// Ends the registration and blocks until no call is running; see
  /// `cancelAndWait()` of a ``Registration``.
  @available(*, noasync, message: "Write await cancelAndWait(), which suspends instead of blocking")
  public func cancelAndWait() -> Registration.Wait { registration.cancelAndWait() }

  /// Ends the registration and suspends until no call is running.
  public func cancelAndWait() async -> Registration.Wait { await registration.cancelAndWait() }

  /// Skips deliveries until ``resume()`` has been called once for each pause.
  public func pause() { registration.pause() }

  /// Undoes one ``pause()``.
  public func resume() { registration.resume() }

  /// Whether deliveries are being skipped.
  public var isPaused: Bool { registration.isPaused }

  /// Whether the registration has not ended.
  public var isActive: Bool { registration.isActive }

  /// Ends the registration with `bag`, and no longer with the release of the token.
  public func store(in bag: TokenBag) { bag.insert(self) }
}
