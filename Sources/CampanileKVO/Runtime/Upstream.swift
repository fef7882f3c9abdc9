import Campanile
import Synchronization

/// One property as an observation follows it, from when it comes to be on the key path until it
/// leaves it.
///
/// A property that comes back is another link: of a change that was going on when it left, the
/// observation may never hear the end.
final class Link: Sendable {
  let property: ObservedProperty
  private let ended = Atomic<Bool>(false)

  init(_ property: ObservedProperty) { self.property = property }

  /// Whether the property has left the key path; a thread that is changing it may still call.
  var hasEnded: Bool { ended.load(ordering: .acquiring) }
  fileprivate func end() { ended.store(true, ordering: .releasing) }
}

/// What one observation follows; releasing it stops that.
///
/// Kept by the observer's closure, so that it ends when the registration does, and by nobody who is
/// kept by what it follows.
final class Upstream: Sendable {
  private struct Followed {
    let link: Link
    let registration: Registration

    func end() {
      link.end()
      registration.cancel()
    }
  }

  /// Protected by the lock.
  private let links = Locked<[Followed]>([])

  deinit {
    for followed in links.withLock({ $0.take() }) { followed.end() }
  }

  /// Whether no property is followed.
  var isEmpty: Bool { links.withLock { $0.isEmpty } }

  /// Whether what is followed are these properties, in this order.
  func isFollowing(_ reads: [ReadCollector.Read]) -> Bool {
    var isSame = false
    links.withLock { links in
      isSame =
        links.count == reads.count
        && zip(links, reads).allSatisfy { $0.link.property === $1.property }
    }
    return isSame
  }

  /// Whether all changes that have begun have ended.
  var isQuiet: Bool {
    links.withLock { $0 }.allSatisfy { $0.link.property.isQuiet }
  }

  /// Follows these properties and no others; those that are new are registered by `register`.
  ///
  /// - Returns: the links that have ended.
  func follow(_ reads: [ReadCollector.Read], _ register: (Link) -> Registration) -> [Link] {
    let before = links.withLock { $0 }
    var known: [ObjectIdentifier: Followed] = [:]
    for followed in before { known[ObjectIdentifier(followed.link.property)] = followed }
    let now = reads.map { read in
      let kept = before.isEmpty ? nil : known.removeValue(forKey: ObjectIdentifier(read.property))
      if let kept { return kept }
      let link = Link(read.property)
      return Followed(link: link, registration: register(link))
    }
    links.withLock { $0 = now }
    for followed in known.values { followed.end() }
    return known.values.map(\.link)
  }
}

extension Array {
  fileprivate mutating func take() -> Self {
    defer { self = [] }
    return self
  }
}
