internal import Campanile

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

/// The changes of one observation as a source like any other.
struct ChangeSource<Value: Sendable>: Followable {
  typealias Element = KVOChange<Value>
  typealias Options = ObservationOptions

  let list: SourceList<KVOChange<Value>>

  func _register(
    _ request: consuming ObservationRequest, _ body: ObserverBody<KVOChange<Value>>,
    _ options: ObservationOptions
  ) -> Registration? {
    list.register(request, body, isOnce: options.contains(.once))
  }

  var _ended: Registration { list.ended }
}
