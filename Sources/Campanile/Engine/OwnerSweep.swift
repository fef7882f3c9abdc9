/// The registrations with owners of one source, and the schedule for checking their owners.
///
/// Each new registration with an owner pays for a few checks. A sweep begins once there are three
/// times as many registrations as the last sweep found alive, or as have not ended. So the remains
/// of dead owners stay within a constant factor of what lives. A source that only grows checks half
/// an owner for each one that it adds.
struct OwnerSweep {
  /// How many owners one step checks, and how many registrations it examines.
  private static let stepLength = 4
  private static let reach = 16
  private static let minimum = 16

  private var registrations: [Registration] = []
  /// The number of registrations at the front that are still to be checked.
  private var rest = 0
  /// The number that the last sweep found alive.
  private var survivorCount = 0
  /// The number that have not ended.
  private var liveCount = 0

  var count: Int { registrations.count }

  /// Adds a new registration.
  mutating func add(_ registration: Registration) {
    liveCount += 1
    registrations.append(registration)
  }

  /// Notes that one has ended; it stays until a step reaches it.
  mutating func noteEnd() { liveCount -= 1 }

  /// Takes back a registration that `step` returned, and whose owner lives.
  mutating func keep(_ registration: Registration) {
    survivorCount += 1
    registrations.append(registration)
  }

  /// Removes and returns a few registrations whose owners are to be checked, if it is time to.
  mutating func step(_ held: borrowing ObserverRegistry.Held) -> [LiveRegistration] {
    if rest == 0 && count >= max(Self.minimum, 3 * min(survivorCount, liveCount)) {
      rest = count
      survivorCount = 0
    }
    var found: [LiveRegistration] = []
    for _ in 0..<min(rest, Self.reach) where found.count < Self.stepLength {
      // The newest one moves to this place, and need not be examined.
      rest -= 1
      registrations.swapAt(rest, registrations.count - 1)
      let registration = registrations.removeLast()
      // Registrations that have ended already are skipped.
      guard let observer = registration.observer(held) else { continue }
      found.append((registration, observer))
    }
    return found
  }

  mutating func removeAll() -> [Registration] {
    rest = 0
    defer { registrations = [] }
    return registrations
  }
}

/// The registrations of one owner; a single one, the usual case, needs no extra memory.
struct OwnedRegistrations {
  private var first: (id: UInt64, list: ObserverList)?
  private var rest: [UInt64: ObserverList] = .init()

  var isEmpty: Bool { first == nil && rest.isEmpty }

  /// All of them, in no particular order.
  @inline(never)
  var all: [(id: UInt64, list: ObserverList)] {
    (first.map { [$0] } ?? []) + rest.map { (id: $0.key, list: $0.value) }
  }

  mutating func insert(_ id: UInt64, in list: ObserverList) {
    if first == nil {
      first = (id, list)
    } else {
      rest.put(list, for: id)
    }
  }

  mutating func remove(_ id: UInt64) {
    if first?.id == id {
      first = nil
    } else {
      rest.put(nil, for: id)
    }
  }
}
