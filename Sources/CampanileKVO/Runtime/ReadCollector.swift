import Campanile
import Synchronization

/// Collects the properties that are read while a key path is evaluated.
///
/// Key paths cannot be taken apart. So they are not: the getters report themselves, and what was
/// read is what is followed.
///
/// One collector serves one observation, over and over, so that a change allocates nothing for it.
final class ReadCollector: Sendable {
  /// A property that was read, and which of its changes it was read after.
  struct Read {
    let property: ObservedProperty
    let revision: UInt
    /// Whether the value that was read is that of the revision, and no newer one.
    var isExact = false
  }

  /// Protected by the lock.
  private struct State {
    var reads: [Read] = []
    /// The properties of `reads`, once there are too many to look through.
    var known: Set<ObjectIdentifier> = []
    var isOpen = false

    mutating func add(_ property: ObservedProperty, _ revision: UInt, _ isExact: Bool) {
      guard isOpen else { return }
      if reads.count < 16 {
        if reads.contains(where: { $0.property === property }) { return }
      } else {
        if known.isEmpty { known = Set(reads.map { ObjectIdentifier($0.property) }) }
        guard known.insert(ObjectIdentifier(property)).inserted else { return }
      }
      reads.append(Read(property: property, revision: revision, isExact: isExact))
    }
  }

  /// Whether properties are left out that nobody has asked about: nobody need do so for this.
  let isOfKnown: Bool
  private let state = Locked(State())

  init(isOfKnown: Bool = false) { self.isOfKnown = isOfKnown }

  func add(_ property: ObservedProperty) {
    add(property, property.revision, isExact: false)
  }

  func add(_ property: ObservedProperty, _ revision: UInt, isExact: Bool) {
    state.withLock { $0.add(property, revision, isExact) }
  }

  /// Runs `body`, and takes in the properties that it reads, each once, in the order of the reads.
  ///
  /// Calls of one collector do not overlap.
  func collect(_ body: () -> Void) {
    state.withLock { $0.isOpen = true }
    Scope.with(self, body)
    state.withLock { $0.isOpen = false }
  }

  /// Returns what was read, and forgets it.
  func take() -> [Read] {
    state.withLock { state in
      defer { state.reads = [] }
      return state.reads
    }
  }

  /// Forgets what was read if `upstream` keeps the same; else returns it, to be followed.
  ///
  /// - Parameter revision: After it, which revision was read, if one property was, exactly.
  func take(unlessFollowedBy upstream: Upstream, _ revision: inout UInt?) -> [Read]? {
    var taken: [Read]?
    state.withLock { state in
      if !state.known.isEmpty { state.known = [] }
      if state.reads.count == 1, state.reads[0].isExact { revision = state.reads[0].revision }
      if upstream.isFollowing(state.reads) {
        // None of them goes with that.
        state.reads.removeAll(keepingCapacity: true)
      } else {
        taken = state.reads
        state.reads = []
      }
    }
    return taken
  }

  /// Forgets what was read.
  func clear() {
    withExtendedLifetime(take()) {}
  }
}
