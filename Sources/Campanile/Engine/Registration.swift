import Synchronization

/// A handle to one registered observer, which can end it; releasing the handle does not.
///
/// It is a value of three words that keeps neither the observer nor its owner alive. Two handles
/// are equal if they name the same registration. All methods are safe from any thread and from
/// inside an observer, and do nothing once the registration has ended.
public struct Registration: Sendable, Hashable {
  let list: ObserverList
  let id: UInt64
  let counters: DeliveryCounters?

  /// Whether two handles name the same registration.
  public static func == (one: Self, other: Self) -> Bool {
    one.id == other.id && one.list.registry === other.list.registry
  }

  /// Hashes the registration's identity.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(ObjectIdentifier(list.registry))
  }
}

extension Registration {
  /// The result of ``cancel()``.
  public enum Cancellation: Sendable, Hashable {
    /// The registration has ended, and no call of its observer is running on another thread.
    case ended
    /// The registration has ended; a call that began earlier may still be running on another
    /// thread.
    case endedWhileMaybeRunning
    /// The registration had ended before.
    case alreadyEnded
  }
}

extension ObserverList {
  /// The handle that a source returns if it refuses a registration.
  var ended: Registration { Registration(list: self, id: 0, counters: nil) }
}

/// A registration that has not ended, with its observer.
typealias LiveRegistration = (registration: Registration, observer: AnyObserver)

extension [Registration] {
  /// The registrations in the order in which they were made.
  @inline(never)
  var oldestFirst: [Registration] { ordered { $0.id < $1.id } }
}

/// Pausing.
extension Registration {
  /// Skips deliveries until ``resume()`` has been called once for each pause.
  ///
  /// While the registration is paused, its deliveries are skipped, not kept. A value that is posted
  /// during the pause does not enter the buffer of a sequence, an asynchronous observer or an
  /// observer with a bounded buffer either.
  ///
  /// An observer of a state that has missed something receives the newest value when it resumes.
  public func pause() {
    _ = ask { observer in
      observer.pause()
      return true
    }
  }

  /// Undoes one ``pause()``.
  ///
  /// If the registration is not paused, this does nothing.
  ///
  /// If an observer of a state has missed something, it receives the newest value on its delivery
  /// when its last pause is undone. An immediate observer receives it before this method returns,
  /// unless the state is computing or delivering a change at that moment. So if you hold a lock during
  /// this call, observers may run with the lock held.
  public func resume() {
    if takeBackPause() { tellMissed() }
  }

  /// Takes one pause back, without a call of the observer.
  ///
  /// - Returns: Whether `tellMissed` is to follow, under no lock.
  func takeBackPause() -> Bool { ask { $0.isPaused && $0.resume() } }

  func tellMissed() {
    list.registry.observer(of: self)?.details?.onResume?(self)
  }

  /// Whether deliveries are being skipped.
  public var isPaused: Bool { ask { $0.isPaused } }
}

/// Looking at the observer.
extension Registration {
  /// Asks the observer under the lock of the source.
  ///
  /// - Returns: The answer; false if the registration has ended.
  @inline(never)
  func ask(_ question: (AnyObserver) -> Bool) -> Bool {
    list.registry.withState { _, held in observer(held).map(question) } ?? false
  }

  /// The observer of the registration, if it has not ended.
  func observer(_ held: borrowing ObserverRegistry.Held) -> AnyObserver? {
    list.index(of: id, held).map { unsafe list.observer(at: $0, held).takeUnretainedValue() }
  }
}

extension ObserverRegistry {
  /// The observer of a registration, unless it has ended.
  @inline(never)
  func observer(of registration: Registration) -> AnyObserver? {
    withState { _, held in registration.observer(held) }
  }
}

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
    // No pair: the identifier never changes.
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
    // No pair: the release of the token comes after all other uses.
    let state = state.load(ordering: .relaxed)
    if state & Self.endedBit == 0 { _ = list.end(state, counters) }
  }

  /// Ends the registration now; see ``Registration/cancel()``.
  ///
  /// A second call does nothing.
  @discardableResult
  public func cancel() -> Registration.Cancellation {
    // No pair: the identifier never changes.
    let id = state.load(ordering: .relaxed) & ~Self.endedBit
    // No pair: the release of the token comes after all other uses.
    defer { state.store(id | Self.endedBit, ordering: .relaxed) }
    return list.end(id, counters)
  }

  /// Leaves the registration to a bag: the release of the token does not end it.
  func disarm() {
    // No pair: as in `cancel`.
    state.bitwiseOr(Self.endedBit, ordering: .relaxed)
  }

  /// Skips deliveries until ``resume()`` has been called once for each pause.
  public func pause() { registration.pause() }

  /// Undoes one ``pause()``.
  public func resume() { registration.resume() }

  /// Whether deliveries are being skipped.
  public var isPaused: Bool { registration.isPaused }

  /// Whether the registration has not ended.
  public var isActive: Bool { registration.isActive }
}
