/// A handle to one registered observer, which can end it; releasing the handle does not.
///
/// It is a value of three words that keeps neither the observer nor its owner alive. Two handles
/// are equal if they name the same registration. All methods are safe from any thread and from
/// inside an observer, and do nothing once the registration has ended.
public struct Registration: Sendable, Hashable {
  let list: ObserverList
  let id: UInt64
  let counters: DeliveryCounters?

  init(list: ObserverList, id: UInt64, counters: DeliveryCounters?) {
    self.list = list
    self.id = id
    self.counters = counters
  }

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

/// A registration that has not ended, with its observer.
struct LiveRegistration {
  let registration: Registration
  let observer: AnyObserver
}
