/// The registrations with owners of one source, and when their owners are to be looked at.
///
/// Registrations with owners pay for the looking, a few steps each. A sweep begins once there are
/// three times as many as the last one found alive, or as have not ended: so what is left of dead
/// owners stays within a constant factor of what lives, and a source that only grows looks at half an
/// owner for each one that it adds.
struct OwnerSweep {
  /// How many owners one step looks at, and how many registrations it goes through.
  private static let stepLength = 4
  private static let reach = 16
  private static let minimum = 16

  private var registrations: [Registration] = []
  /// How many of the first are still to be looked at.
  private var rest = 0
  /// How many the last sweep found alive.
  private var survivorCount = 0
  /// How many have not ended.
  private var liveCount = 0

  var count: Int { registrations.count }

  /// Adds a new registration.
  mutating func add(_ registration: Registration) {
    liveCount += 1
    registrations.append(registration)
  }

  /// Takes in that one has ended; it stays until a step comes to it.
  mutating func noteEnd() { liveCount -= 1 }

  /// Takes back one that `step` handed out, and whose owner lives.
  mutating func keep(_ registration: Registration) {
    survivorCount += 1
    registrations.append(registration)
  }

  /// Takes out a few registrations whose owners are to be looked at, if it is time to.
  mutating func step(_ held: borrowing ObserverRegistry.Held) -> [LiveRegistration] {
    if rest == 0 && count >= max(Self.minimum, 3 * min(survivorCount, liveCount)) {
      rest = count
      survivorCount = 0
    }
    var found: [LiveRegistration] = []
    for _ in 0..<min(rest, Self.reach) where found.count < Self.stepLength {
      // The place goes to the newest one, which need not be looked at.
      rest -= 1
      registrations.swapAt(rest, registrations.count - 1)
      let registration = registrations.removeLast()
      // What has ended already is not looked at again.
      guard let slot = registration.slot(held) else { continue }
      let observer = unsafe slot.observer(held).takeUnretainedValue()
      found.append(LiveRegistration(registration: registration, observer: observer))
    }
    return found
  }

  mutating func removeAll() -> [Registration] {
    rest = 0
    defer { registrations = [] }
    return registrations
  }
}

/// The registrations that one owner bounds: most have one, for which this needs no memory of its
/// own.
struct OwnedRegistrations {
  private var first: (id: UInt64, list: ObserverList)?
  private var rest: [UInt64: ObserverList] = [:]

  var isEmpty: Bool { first == nil && rest.isEmpty }

  /// All of them, in no particular order.
  var all: [(id: UInt64, list: ObserverList)] {
    (first.map { [$0] } ?? []) + rest.map { (id: $0.key, list: $0.value) }
  }

  mutating func insert(_ id: UInt64, in list: ObserverList) {
    if first == nil {
      first = (id, list)
    } else {
      rest[id] = list
    }
  }

  mutating func remove(_ id: UInt64) {
    if first?.id == id {
      first = nil
    } else {
      rest[id] = nil
    }
  }
}
