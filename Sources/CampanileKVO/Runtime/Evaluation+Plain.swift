import Campanile
import Synchronization

/// Plain changes: nothing is recorded when they begin, because observers want only the values and
/// no other change is in progress.
extension Evaluation {
  /// Whether changes of an object that stays in one isolation need not be recorded before their
  /// delivery.
  var isIdle: Bool {
    idle.load(ordering: .relaxed) && !request.isForAnyThread
      && !isBeingRead
      && (!request.isOnMain || SourceRegistry.isOnMain)
  }

  /// Whether no change of another property may be in progress whose end would not be reported here.
  var mayBePlain: Bool { isDirect || !isAnnounced }

  /// Delivers a change that has not been recorded.
  func tellPlainly(_ property: ObservedProperty) {
    beginPlainly()
    deliver(property.path)
    endPlainly()
  }

  /// Delivers a change of the property of a direct key path, with values of type `Member`.
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
