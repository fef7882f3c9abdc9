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
