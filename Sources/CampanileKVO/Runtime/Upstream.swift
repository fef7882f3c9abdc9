import Campanile

/// What one observation follows; releasing it stops that.
///
/// Kept by the observer's closure, so that it ends when the registration does, and by nobody who is
/// kept by what it follows.
final class Upstream: Sendable {
  struct Link {
    let property: ObservedProperty
    let registration: Registration
  }

  /// Protected by the lock.
  private let links = Locked<[Link]>([])

  deinit {
    for link in links.withLock({ $0.take() }) { link.registration.cancel() }
  }

  /// Whether what is followed are these properties, in this order.
  func isFollowing(_ reads: [ReadCollector.Read]) -> Bool {
    var isSame = false
    links.update { links in
      isSame =
        links.count == reads.count && zip(links, reads).allSatisfy { $0.property === $1.property }
    }
    return isSame
  }

  /// The properties that are followed.
  var followed: Set<ObjectIdentifier> {
    links.withLock { links in Set(links.map { ObjectIdentifier($0.property) }) }
  }

  /// Follows these properties and no others; those that are new are registered by `register`.
  func follow(
    _ reads: [ReadCollector.Read], _ register: (ObservedProperty) -> Registration
  ) {
    let before = links.withLock { $0 }
    var known: [ObjectIdentifier: Registration] = [:]
    for link in before { known[ObjectIdentifier(link.property)] = link.registration }
    let now = reads.map { read in
      let kept = before.isEmpty ? nil : known.removeValue(forKey: ObjectIdentifier(read.property))
      return Link(property: read.property, registration: kept ?? register(read.property))
    }
    links.withLock { $0 = now }
    for registration in known.values { registration.cancel() }
  }
}

extension Array {
  fileprivate mutating func take() -> Self {
    defer { self = [] }
    return self
  }
}
