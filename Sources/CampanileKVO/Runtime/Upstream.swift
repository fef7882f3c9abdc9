import Campanile
import Synchronization

/// One property as an evaluation follows it, from when it comes to be on the key path until it leaves it.
///
/// A property that comes back is another link: of a change that was going on when it left, the
/// evaluation may never hear the end.
final class Link: Sendable {
  let property: ObservedProperty
  /// How many changes of the evaluation had begun when it came to follow the property.
  let began: UInt
  private let ended = Atomic<Bool>(false)
  /// How many changes go on that had begun by then.
  private let unheard: Atomic<UInt>

  init(_ property: ObservedProperty, began: UInt = 0) {
    self.property = property
    self.began = began
    let revision = property.revision
    unheard = Atomic(property.begun &- revision)
  }

  /// Whether a change that ends had begun before the property was followed, where each change ends
  /// before those that began earlier.
  ///
  /// - Parameter openCount: How many had not ended; 0 if the beginning of this one was not counted.
  func isUnheard(_ openCount: UInt) -> Bool {
    let count = unheard.load(ordering: .relaxed)
    if openCount > count { return false }
    if openCount > 0 { unheard.store(openCount &- 1, ordering: .relaxed) }
    return true
  }

  /// Whether the property has left the key path; a thread that is changing it may still call.
  var hasEnded: Bool { ended.load(ordering: .acquiring) }

  func end() {
    ended.store(true, ordering: .releasing)
    property.remove(self)
  }
}

/// What one evaluation follows; releasing it stops that.
///
/// Kept by the observers' closures, so that it ends with the last registration, and by nobody who is
/// kept by what it follows.
final class Upstream: Sendable {
  /// Protected by the lock.
  private let links = Locked<[Link]>([])

  deinit {
    for link in links.withLock({ $0 }) { link.end() }
  }

  /// Whether no property is followed.
  var isEmpty: Bool { links.withLock { $0.isEmpty } }

  /// Whether all changes that have begun have ended.
  var isQuiet: Bool {
    var isQuiet = true
    links.withLock { links in
      for link in links where !link.property.isQuiet { isQuiet = false }
    }
    return isQuiet
  }

  /// Whether a change of any property is announced by hand.
  var isAnnounced: Bool {
    var isAnnounced = false
    links.withLock { links in
      for link in links where link.property.isAnnouncedByHand { isAnnounced = true }
    }
    return isAnnounced
  }

  /// Follows these properties and no others.
  ///
  /// - Parameters:
  ///   - began: How many changes have begun.
  ///   - add: Has the property of a new link call the evaluation.
  /// - Returns: The links that have ended.
  func follow(_ reads: [ReadCollector.Read], began: UInt = 0, _ add: (Link) -> Void) -> [Link] {
    let before = links.withLock { $0 }
    var known: [ObjectIdentifier: Link] = [:]
    for link in before { known[ObjectIdentifier(link.property)] = link }
    let now = reads.map { read in
      let kept = before.isEmpty ? nil : known.removeValue(forKey: ObjectIdentifier(read.property))
      if let kept { return kept }
      let link = Link(read.property, began: began)
      add(link)
      return link
    }
    links.withLock { $0 = now }
    for link in known.values { link.end() }
    return Array(known.values)
  }
}
