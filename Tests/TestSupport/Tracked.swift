package import Synchronization

/// Counts how many of it live.
package final class Tracked: Sendable {
  package let count: LiveCount
  package init(_ count: LiveCount) {
    self.count = count
    let living = count.value.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue
    count.highest.max(living, ordering: .sequentiallyConsistent)
  }
  deinit { count.value.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
  package func touch() {}
}

package final class LiveCount: Sendable {
  package init() {}

  package let value = Atomic<Int>(0)
  fileprivate let highest = Atomic<Int>(0)
  package var current: Int { value.load(ordering: .sequentiallyConsistent) }
  /// The most that have lived at a time, less those whose making is not through.
  package var peak: Int { highest.load(ordering: .sequentiallyConsistent) }
}
