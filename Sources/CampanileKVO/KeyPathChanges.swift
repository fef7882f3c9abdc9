public import Campanile

/// The changes of one key path of one object, as a source: observe it with a token or an owner, on a
/// queue or an actor, asynchronously, or as a sequence.
///
/// ```swift
/// for await change in counter.changes(of: \.count).values() {
///   print(change.new)
/// }
/// ```
///
/// It follows the key path as long as it or one of its observations lives. The death of the object
/// ends the observations and every sequence. Changes are not coalesced; a sequence with the buffering
/// `.newest(1)` leaves out what its reader was too slow for. All observations of one value share one
/// evaluation of the key path.
///
/// With `.initial`, each observer and each reader begins with the newest value, and gets every change
/// after it, one after the other. A change that one of them makes follows when all have got the one
/// before. This is what the followers of a `CurrentValue` get.
///
/// If the key path reads no property that can be observed, one line on standard error says so, and the
/// source has finished.
public struct KeyPathChanges<Value: Sendable>: ObservationSource {
  /// What observers are given.
  public typealias Element = KVOChange<Value>

  private let base: KeyPathChangesBase<Value>

  init<Object: AnyObject>(_ request: KVORequest<Object, Value>) {
    base = KeyPathChangesBase(request)
  }

  /// The changes, as a signal.
  public var signal: Signal<KVOChange<Value>> { Signal(base: base) }
}

/// The changes of one key path, as what a signal is of.
private final class KeyPathChangesBase<Value: Sendable>: SignalBase {
  typealias Element = KVOChange<Value>

  private let changes: SourceList<KVOChange<Value>>
  private let upstream: Upstream
  /// The newest change, for those who begin with it: its followers are told one change after the
  /// other, and each of them its first value before any that is newer, whatever thread makes it.
  private let newest: CurrentValue<KVOChange<Value>?>?

  init<Object: AnyObject>(_ request: KVORequest<Object, Value>) {
    let upstream = Upstream()
    let observation = KeyPathObservation(
      request, owner: nil, upstream: upstream, onError: nil)
    self.upstream = upstream
    changes = observation.changes
    let isObserved: Bool
    if request.options.isInitial {
      let newest = CurrentValue<KVOChange<Value>?>(nil)
      let registration = changes.addConfined(
        owner: nil, file: request.file, line: request.line, onEnd: { newest.finish() }
      ) { newest.value = $0 }
      self.newest = newest
      isObserved = observation.start(for: registration)
    } else {
      newest = nil
      isObserved = observation.start(for: nil)
    }
    if !isObserved {
      request.warnOfNothing()
      changes.finish()
    }
  }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<KVOChange<Value>>,
    _ options: SourceOptions<KVOChange<Value>>
  ) -> Registration {
    guard let newest else {
      return changes.register(request, body, isOnce: options.isOnce, keeping: upstream)
        ?? changes.ended
    }
    let follower = body.mapped(once: false) {
      [upstream] (step: ValueChange<KVOChange<Value>?>) -> KVOChange<Value>? in
      withExtendedLifetime(upstream) {
        guard let change = step.new, step.isInitial else { return step.new }
        return KVOChange(initial: change.new, at: change.path)
      }
    }
    return newest.register(
      request, follower, SourceOptions(isInitial: true, isOnce: options.isOnce))
  }

  var reference: @Sendable () -> (any SignalBase<KVOChange<Value>>)? { { self } }
}
