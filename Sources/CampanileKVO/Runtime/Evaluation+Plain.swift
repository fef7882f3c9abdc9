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

  /// The same, with the value that the property of a direct key path has now.
  final func tellPlainly<Member>(_ value: Member) {
    beginPlainly()
    deliver(value)
    endPlainly()
  }

  /// The same, with the values before and after.
  final func tellPlainly<Member>(_ old: Member, _ new: Member) {
    beginPlainly()
    deliver(old, new)
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
