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
/// death of the object ends the observations and every sequence. A key path may begin with a `let`
/// that leads to another object. Then the death is noticed at the next change. Changes are not
/// coalesced. A sequence with the buffering `.newest(1)` leaves out the changes for which its
/// reader was too slow. All observers of a key path of one object share one evaluation of it. Among
/// them, a source has the place at which it was made. All observers of the source are called there.
///
/// With `.initial`, each observer and each reader begins with the newest value, and receives every
/// later change in order. A change that an observer makes is delivered after all observers have
/// received the change before. This is what the followers of a `CurrentValue` receive.
///
/// The old value of a change is the value that the observer received before, also after a pause.
///
/// If the key path reads no property that can be observed, one line on standard error says so, and
/// the source has finished.
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

extension KeyPathChanges: Traceable, ValueDescribing {
  /// Reports what happens at the key path of the object.
  ///
  /// Observe this signal at any time. A post is a change that has observers. All observers of the
  /// key path are reported: those of controllers, and one for each value of this type.
  public var events: Signal<SourceEvent> { base.registration.sourceEvents }

  /// The live observations of the key path, whoever made them, oldest first.
  public var registrations: [RegistrationDescription] { base.registration.sourceRegistrations }

  /// The name of the key path in traces.
  public var traceName: String { base.name }

  /// A closure that reads the live observations.
  ///
  /// The observations end with the object.
  public var registrationsReader: @Sendable () -> [RegistrationDescription] {
    { [registration = base.registration] in registration.sourceRegistrations }
  }

  package var valueWish: ValueWish { base.registration.sourceValueWish }
}

/// The changes of one key path, as the base of a signal.
private final class KeyPathChangesBase<Value: Sendable>: SignalBase {
  typealias Element = KVOChange<Value>

  private let list = SourceRegistry().makeList(
    of: NumberedChange<Value>.self, named: KVOChange<Value>.self)
  /// The newest change, for observers that begin with it.
  private let newest: CurrentValue<NumberedChange<Value>?>?
  /// Forwards the changes until it is released.
  private let relay: Relay
  /// The name of the key path in traces.
  let name: String

  /// The registration at the evaluation of the key path.
  var registration: Registration { relay.registration }

  private final class Relay: Sendable {
    let registration: Registration
    init(_ registration: Registration) { self.registration = registration }
    deinit { registration.cancel() }
  }

  init<Object: AnyObject>(
    _ object: Object, _ request: KVORequest, _ read: @escaping (Object) -> Value
  ) {
    let newest =
      request.wishes.contains(.initial) ? CurrentValue<NumberedChange<Value>?>(nil) : nil
    let counter = Counter()
    let (registration, isObserved) = request.lasting.observe(
      object, reading: { read },
      onEnd: { [list] in
        list.finish()
        newest?.finish()
      }
    ) { [list] gate, _ in
      { change in
        try gate.call(change) { change in
          let numbered = counter.number(change, isState: newest != nil)
          if let newest { newest.value = numbered } else { list.post(numbered) }
        }
      }
    }
    self.newest = newest
    relay = Relay(registration)
    name = "\(request.path) of \(type(of: object))"
    if !isObserved { request.warnOfNothing(type(of: object)) }
  }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<KVOChange<Value>>,
    _ options: SourceOptions<KVOChange<Value>>
  ) -> Registration {
    guard let newest else {
      let last = Counter()
      let isWanted = body.isWanted
      var current = body.mapped(once: false) { (change: NumberedChange<Value>, pass) in
        try pass(change.following(last.exchange(change)))
      }
      // Whether a change takes room in the observer's own buffer is asked before it is received.
      if let isWanted { current = current.taking { isWanted($0.change, $1) } }
      return list.register(request, current, isOnce: options.isOnce, keeping: relay) ?? list.ended
    }
    let follower = body.mapped(once: false) {
      [relay] (step: ValueChange<NumberedChange<Value>?>, pass) in
      defer { withExtendedLifetime(relay) {} }
      guard let new = step.new else { return }
      try pass(step.isInitial ? new.asInitial : new.following(step.old ?? nil))
    }
    return newest.register(
      request, follower, SourceOptions(isInitial: true, isOnce: options.isOnce))
  }

  var reference: @Sendable () -> (any SignalBase<KVOChange<Value>>)? { { self } }
}

/// The number of the newest change.
private final class Counter: Sendable {
  private let last = Atomic<UInt>(0)

  /// Numbers a change; a prior call has the number of the change before.
  func number<Value>(_ change: KVOChange<Value>, isState: Bool) -> NumberedChange<Value> {
    let isPrior = change.step == .prior
    let number =
      isPrior ? last.load(ordering: .relaxed) : last.wrappingAdd(1, ordering: .relaxed).newValue
    return NumberedChange(change, number, isState: isState)
  }

  /// Notes the newest change, and returns the number of the one before.
  func exchange<Value>(_ change: NumberedChange<Value>) -> UInt {
    last.exchange(change.number, ordering: .relaxed)
  }
}

/// A change with its number.
private struct NumberedChange<Value> {
  let change: KVOChange<Value>
  let number: UInt
  private let hasOld: Bool

  /// - Parameter isState: Whether the change is stored as a state, which does not keep the old value.
  init(_ change: KVOChange<Value>, _ number: UInt, isState: Bool) {
    self.change = isState ? change.withoutOld : change
    self.number = number
    hasOld = change.hasOld
  }

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
