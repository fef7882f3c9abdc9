/// The observed object, as an observer holds it.
struct ObjectReference<Object: AnyObject> {
  weak let object: Object?
  /// The same object, if it is to be kept alive.
  private let kept: Object?

  init(_ object: Object, isRetained: Bool) {
    self.object = object
    kept = isRetained ? object : nil
  }
}

extension ObjectReference: Sendable where Object: Sendable {}
