internal import Campanile

/// The changes of one observation, as what a signal is of.
final class ChangeSource<Value: Sendable>: SignalBase {
  typealias Element = KVOChange<Value>

  private let list: SourceList<KVOChange<Value>>

  init(list: SourceList<KVOChange<Value>>) { self.list = list }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<KVOChange<Value>>,
    _ options: SourceOptions<KVOChange<Value>>
  ) -> Registration {
    list.register(request, body, isOnce: options.isOnce) ?? list.ended
  }

  var reference: @Sendable () -> (any SignalBase<KVOChange<Value>>)? { { self } }
}
