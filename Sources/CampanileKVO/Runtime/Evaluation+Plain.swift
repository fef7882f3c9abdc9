import Campanile
import Synchronization

/// Changes of which nothing is to be noted when they begin: no observer wants more than the values, and nothing
/// else goes on.
extension Evaluation {
  /// Whether the changes of an object that stays in one isolation need not be noted before they are told.
  var isIdle: Bool {
    idle.load(ordering: .relaxed) && !request.isForAnyThread
      && !isBeingRead
      && (!request.isOnMain || SourceRegistry.isOnMain)
  }

  /// Whether no change of another property may go on whose end tells nothing of this one's.
  var mayBePlain: Bool { isDirect || !isAnnounced }

  /// Tells a change that has not been noted.
  func tellPlainly(_ property: ObservedProperty) {
    beginPlainly()
    deliver(property.path)
    endPlainly()
  }

  /// The same, with the change of the property of a direct key path, whose values are members of a type.
  final func tellPlainly<Change, Member>(_ change: Change, of type: Member.Type) {
    beginPlainly()
    deliver(change, of: type)
    endPlainly()
  }

  private func beginPlainly() {
    plainDepth += 1
    state.tell(.max, .max)
  }

  private func endPlainly() {
    plainDepth -= 1
    if plainDepth > 0 || depth > 0 { state.isStale = true }
  }
}
