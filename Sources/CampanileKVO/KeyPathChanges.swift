public import Campanile
import Synchronization

/// The changes of one key path of one object, as a source.
///
/// Observe it with a token or an owner, on a queue or an actor, with asynchronous observers, or as
/// a sequence:
///
/// ```swift
/// for await change in counter.changes(of: \.count).values() {
///   print(change.new)
/// }
/// ```
///
/// The source follows the key path as long as the source or one of its observations lives. The
/// observations and sequences end when the object dies; if the key path begins with a `let` that
/// leads to another object, they end at the next change after that. If the key path reads no
/// property that can be observed, one line on standard error says so, and the source has finished.
///
/// Changes are not coalesced, except that a sequence with the buffering `.newest(1)` leaves out the
/// changes for which its reader was too slow. Among the observers of the key path, those of a
/// source are called in the order in which the source was made.
///
/// With `.initial`, each observer and each reader begins with the newest value, and receives every
/// later change in order, like the followers of a `CurrentValue`. The old value of a change is the
/// value that the observer received before, also after a pause.
public struct KeyPathChanges<Value: Sendable>: ObservationSource {
  /// The values that observers receive.
  public typealias Element = KVOChange<Value>

  private let base: KeyPathChangesBase<Value>

  init<Object: AnyObject>(
    _ object: Object, _ request: KVORequest, _ read: @escaping (Object) -> Value
  ) {
    base = KeyPathChangesBase(object, request, read)
  }

  /// The changes, as a signal.
  public var signal: Signal<KVOChange<Value>> { Signal(base: base) }
}

extension KeyPathChanges: Traceable {
  /// A view of the changes that have observers, as posts, and all observers of the key path: those
  /// of controllers, and one for each value of this type.
  public var inspection: SourceInspection { base.registration.inspection(named: base.name) }
}

/// The changes of one key path, as the base of a signal.
private final class KeyPathChangesBase<Value: Sendable>: SignalBase {
  typealias Element = KVOChange<Value>

  private let list = SourceList(of: NumberedChange<Value>.self, named: KVOChange<Value>.self)
  /// The newest change, for observers that begin with it.
  private let newest: CurrentValue<NumberedChange<Value>?>?
  /// Forwards the changes until it is released.
  private let relay: ObservationToken
  /// The name of the key path in traces.
  let name: String

  /// The registration at the evaluation of the key path.
  var registration: Registration { relay.registration }

  init<Object: AnyObject>(
    _ object: Object, _ request: KVORequest, _ read: @escaping (Object) -> Value
  ) {
    let newest =
      request.wishes.contains(.initial) ? CurrentValue<NumberedChange<Value>?>(nil) : nil
    let counter = Counter()
    // `.once` is asked for by each observer of the source.
    var request = request
    request.wishes.remove(.once)
    let (registration, _) = request.observe(
      object, reading: { read },
      onEnd: { [list] in
        list.finish()
        newest?.finish()
      }
    ) { [list] gate, _ in
      { change in
        try gate.call(change) { change in
          let numbered = counter.number(change)
          if let newest { newest.value = numbered.asState } else { list.post(numbered) }
        }
      }
    }
    self.newest = newest
    relay = ObservationToken(registration)
    name = "\(request.path) of \(type(of: object))"
  }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<KVOChange<Value>>
  ) -> Registration {
    guard let newest else {
      let received = Counter()
      // Whether a change takes room in the observer's own buffer is asked before it is received.
      let isWanted = body.selection { (change: NumberedChange<Value>, _, pass) in
        try pass(change.change)
      }
      let current = body.mapped(once: false, where: isWanted) { change, _, pass in
        try pass(change.following(received.last.exchange(change.number, ordering: .relaxed)))
      }
      return list.register(request, current.keeping(relay))
    }
    let isOnce = request.takeOptions().isOnce
    request.options.isInitial = true
    let follower = body.mapped(once: isOnce, where: nil) {
      (step: ValueChange<NumberedChange<Value>?>, _, pass) in
      guard let new = step.new else { return }
      try pass(step.isInitial ? new.asInitial : new.following(step.old ?? nil))
    }
    return newest.changes.signal.register(request, follower.keeping(relay))
  }
}

/// The number of the newest change.
private final class Counter: Sendable {
  let last = Atomic<UInt>(0)

  /// Numbers a change; a prior call has the number of the change before.
  func number<Value>(_ change: KVOChange<Value>) -> NumberedChange<Value> {
    if change.step != .prior { last.wrappingAdd(1, ordering: .relaxed) }
    return NumberedChange(
      change: change, number: last.load(ordering: .relaxed), hasOld: change.hasOld)
  }
}

/// A change with its number.
private struct NumberedChange<Value> {
  let change: KVOChange<Value>
  let number: UInt
  let hasOld: Bool

  /// The change as a state, which does not keep the old value.
  var asState: Self { Self(change: change.withoutOld, number: number, hasOld: hasOld) }

  /// The first call of an observer, with the value after the change.
  var asInitial: KVOChange<Value> { KVOChange(initial: change.new, at: change.path) }

  /// The change for an observer that has received change `last`, or none.
  ///
  /// In an edit, the indexes are those of the value before.
  func following(_ last: UInt) -> KVOChange<Value> {
    change.deed == nil || last == 0 || number == last || number == last &+ 1
      ? change : change.asSetting
  }

  /// The change for an observer that knows the value after another change.
  func following(_ known: Self?) -> KVOChange<Value> {
    guard let known else { return change }
    let change = following(known.number)
    return hasOld ? change.replacingOld(with: known.change.new) : change
  }
}

extension NumberedChange: Sendable where Value: Sendable {}
