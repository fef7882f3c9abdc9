internal import Campanile

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
