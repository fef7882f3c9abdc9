import Campanile
import Synchronization

/// The link from an evaluation to one property, while the property is on the key path.
///
/// A property that returns to the key path has another link. If a change was in progress when the
/// property left, the evaluation may never receive its end.
final class Link: Sendable {
  let property: ObservedProperty
  /// The number of changes of the evaluation that had begun when it began to follow the property.
  ///
  /// It is replaced when an observer is added during a plain change.
  private let first: Atomic<UInt>
  private let ended = Atomic<Bool>(false)
  /// The number of open changes of the property that had begun before that.
  private let unheard: Atomic<UInt>

  init(_ property: ObservedProperty, began: UInt = 0) {
    self.property = property
    first = Atomic(began)
    unheard = Atomic(Self.openCount(of: property))
  }

  private static func openCount(of property: ObservedProperty) -> UInt {
    let revision = property.revision
    return property.begun &- revision
  }

  /// The number of the changes that are unheard.
  var began: UInt { first.load(ordering: .relaxed) }

  /// Gives the open changes, which are plain, a number.
  func record(as number: UInt) {
    first.store(number, ordering: .relaxed)
    unheard.store(Self.openCount(of: property), ordering: .relaxed)
  }

  /// Whether a change that ends had begun before the property was followed, or before an observer was
  /// added.
  ///
  /// Correct where nested changes end in reverse order.
  ///
  /// - Parameter openCount: The number of changes that had not ended; 0 if the beginning of this
  ///   one was not counted.
  func isUnheard(_ openCount: UInt) -> Bool {
    let count = unheard.load(ordering: .relaxed)
    if openCount > count { return false }
    if openCount > 0 { unheard.store(openCount &- 1, ordering: .relaxed) }
    return true
  }

  /// Whether the property has left the key path.
  ///
  /// A thread that is changing the property may still call.
  var hasEnded: Bool { ended.load(ordering: .acquiring) }

  func end() {
    ended.store(true, ordering: .releasing)
    property.remove(self)
  }
}
