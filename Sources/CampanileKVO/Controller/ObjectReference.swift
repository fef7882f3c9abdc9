internal import Campanile

/// The observed object, as an observer holds it.
enum ObjectReference<Object: AnyObject> {
  case weak(WeakReference)
  case strong(Object)

  struct WeakReference {
    weak let object: Object?
  }

  init(_ object: Object, isRetained: Bool) {
    self = isRetained ? .strong(object) : .weak(WeakReference(object: object))
  }

  var object: Object? {
    switch self {
    case .weak(let reference): reference.object
    case .strong(let object): object
    }
  }
}

extension ObjectReference: Sendable where Object: Sendable {}
extension ObjectReference.WeakReference: Sendable where Object: Sendable {}

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
