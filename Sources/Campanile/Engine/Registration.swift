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
struct LiveRegistration {
  let registration: Registration
  let observer: AnyObserver
}

extension [Registration] {
  /// The registrations in the order in which they were made.
  @inline(never)
  var oldestFirst: [Registration] { ordered { $0.id < $1.id } }
}
