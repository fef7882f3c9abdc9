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
