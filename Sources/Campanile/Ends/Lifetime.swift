/// Runs actions when an object ends.
///
/// A lifetime that is stored in an object ends in that object's deinit, after the body of the
/// deinit. A lifetime can be used alone too. All methods are safe from any thread.
public final class Lifetime: Sendable {
  let storage = EndActions()

  /// Creates a lifetime that has not ended.
  public init() {}

  deinit { storage.end() }

  /// Runs `action` when the lifetime ends, on the thread on which it ends, after earlier actions.
  ///
  /// The lifetime keeps the action until then.
  public func onEnd(_ action: @escaping @Sendable () -> Void) {
    storage.add(action)
  }
}

extension ObserverRegistry {
  /// The end actions of an owner; `nil` if it has no lifetime.
  func lifetime(ofOwner owner: AnyObject) -> EndActions? {
    ownerLifetimes.find(in: owner, EndActions.of)
  }

  /// The end actions of a subject; `nil` if it has no lifetime.
  func lifetime(ofSubject subject: AnyObject) -> EndActions? {
    subjectLifetimes.find(in: subject, EndActions.of)
  }
}

extension EndActions {
  /// The end actions of an object; `nil` if it has no lifetime.
  @inline(never)
  package static func of(_ object: AnyObject) -> EndActions? {
    (object as? any LifetimeOwner)?.lifetime.storage
  }
}
