import Campanile
import Synchronization

/// Collects the properties that are read while a key path is evaluated.
///
/// Key paths cannot be taken apart. So they are not: the getters report themselves, and what was read
/// is what is followed.
final class ReadCollector: Sendable {
  /// A property that was read, and which of its changes it was read after.
  struct Read {
    let property: ObservedProperty
    let revision: UInt
  }

  /// Protected by the lock.
  private struct State {
    var reads: [Read] = []
    /// The properties of `reads`, once there are too many to look through.
    var known: Set<ObjectIdentifier> = []
    var isOpen = true

    mutating func add(_ property: ObservedProperty, _ revision: UInt) {
      guard isOpen else { return }
      if reads.count < 16 {
        if reads.contains(where: { $0.property === property }) { return }
      } else {
        if known.isEmpty { known = Set(reads.map { ObjectIdentifier($0.property) }) }
        guard known.insert(ObjectIdentifier(property)).inserted else { return }
      }
      reads.append(Read(property: property, revision: revision))
    }
  }

  private let state = Locked(State())

  func add(_ property: ObservedProperty) {
    let revision = property.revision
    state.update { $0.add(property, revision) }
  }

  /// Runs `body`, and returns the properties that it read, each once, in the order of the reads.
  static func collect(_ body: () -> Void) -> [Read] {
    let collector = ReadCollector()
    Scope.with(
      { scope in
        scope.collector = collector
        scope.edit = nil
      }, body)
    var reads: [Read] = []
    collector.state.update { state in
      state.isOpen = false
      reads = state.reads
    }
    return reads
  }
}
