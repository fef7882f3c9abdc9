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
    var known: Set<ObjectIdentifier> = []
    var isOpen = true
  }

  private let state = Locked(State())

  func add(_ property: ObservedProperty) {
    let revision = property.revision
    state.withLock { state in
      guard state.isOpen, state.known.insert(ObjectIdentifier(property)).inserted else { return }
      state.reads.append(Read(property: property, revision: revision))
    }
  }

  /// Runs `body`, and returns the properties that it read, each once, in the order of the reads.
  static func collect(_ body: () -> Void) -> [Read] {
    let collector = ReadCollector()
    Scope.with(
      { scope in
        scope.collector = collector
        scope.edit = nil
      }, body)
    return collector.state.withLock { state in
      state.isOpen = false
      return state.reads
    }
  }
}
