package import Synchronization

/// Counts how many of it live.
package final class Tracked: Sendable {
  package let count: LiveCount
  package init(_ count: LiveCount) {
    self.count = count
    count.value.wrappingAdd(1, ordering: .sequentiallyConsistent)
  }
  deinit { count.value.wrappingSubtract(1, ordering: .sequentiallyConsistent) }
  package func touch() {}
}

package final class LiveCount: Sendable {
  package init() {}

  package let value = Atomic<Int>(0)
  package var current: Int { value.load(ordering: .sequentiallyConsistent) }
}
