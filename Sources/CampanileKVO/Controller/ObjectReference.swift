internal import Campanile

/// The observed object, as an observer holds it.
struct ObjectReference<Object: AnyObject> {
  private let reference: OwnerReference<Object>
  /// The same object, if it is to be kept alive.
  private let kept: Object?

  init(_ object: Object, isRetained: Bool) {
    reference = OwnerReference(object)
    kept = isRetained ? object : nil
  }

  /// The object, unless its deinit has begun.
  var object: Object? { reference.object }
}
