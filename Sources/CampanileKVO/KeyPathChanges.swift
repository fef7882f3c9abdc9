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
/// the other observers of a property, a source has the place at which it was made. All observers of
/// the source are called there.
///
/// A change that an observer of the source makes is delivered after all observers of the source have
/// received the change before. So its setter may return before they have received it.
///
/// With `.initial`, each observer and each reader begins with the newest value, and receives every
/// later change in order. This is what the followers of a `CurrentValue` receive. The old value of a
/// change is the value that the observer received before, even if changes of several threads overlap.
/// The first change after a pause that missed several is a setting, from the value that the observer
/// knows.
///
/// If the key path reads no property that can be observed, one line on standard error says so, and
/// the source has finished.
public struct KeyPathChanges<Value: Sendable>: ObservationSource {
  /// What observers receive.
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

  private let changes = OrderedChanges<Value>()
  /// The newest change, for observers that begin with it.
  ///
  /// Its followers receive one change after the other. Each of them receives its first value before
  /// any newer one, whatever thread makes the change.
  private let newest: NewestChange<Value>?
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
    let isInitial = request.wishes.contains(.initial)
    let newest = isInitial ? NewestChange<Value>() : nil
    let (registration, isObserved) = request.lasting.observe(
      object, reading: { read },
      onEnd: { [changes] in
        changes.list.finish()
        newest?.state.finish()
      }
    ) { [changes] seat, _ in
      { change in
        try seat.call(change) { change in
          if let newest { newest.post(change) } else { changes.post(change) }
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
      return changes.list.register(request, body, isOnce: options.isOnce, keeping: relay)
        ?? changes.list.ended
    }
    let follower = body.mapped(once: false) {
      [relay] (step: ValueChange<NumberedChange<Value>?>, pass) in
      defer { withExtendedLifetime(relay) {} }
      guard let new = step.new else { return }
      try pass(step.isInitial ? new.asInitial : new.following(step.old ?? nil))
    }
    return newest.state.register(
      request, follower, SourceOptions(isInitial: true, isOnce: options.isOnce))
  }

  var reference: @Sendable () -> (any SignalBase<KVOChange<Value>>)? { { self } }
}

/// The newest change of one key path, as a state.
private final class NewestChange<Value: Sendable>: Sendable {
  let state = CurrentValue<NumberedChange<Value>?>(nil)
  private let count = Atomic<UInt>(0)

  func post(_ change: KVOChange<Value>) {
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    state.value = NumberedChange(change, number)
  }
}

/// A change that a state can store: it does not keep the old value.
///
/// The old value is the new value of the change before.
private struct NumberedChange<Value: Sendable>: Sendable {
  private let change: KVOChange<Value>
  private let hasOld: Bool
  private let number: UInt

  init(_ change: KVOChange<Value>, _ number: UInt) {
    self.change = change.withoutOld
    hasOld = change.hasOld
    self.number = number
  }

  /// The first call of an observer, with the value after the change.
  var asInitial: KVOChange<Value> { KVOChange(initial: change.new, at: change.path) }

  /// The change for an observer that knows the value after another change.
  func following(_ known: Self?) -> KVOChange<Value> {
    // In an edit, the indexes are those of the value before.
    let isNext = known.map { $0.number &+ 1 == number } ?? false
    let change = isNext ? change : change.asSetting
    guard hasOld, let known else { return change }
    return change.replacingOld(with: known.change.new)
  }
}

/// The changes of one key path, posted one after the other.
///
/// A change that arrives during a post is posted after it. If the observer that made it were called
/// at once, those after the observer would receive the newer change first.
private final class OrderedChanges<Value: Sendable>: Sendable {
  /// Protected by the lock.
  private struct State {
    /// The thread that posts, or 0.
    var poster: UInt = 0
    var waiting = Fifo<Waiting>()

    mutating func next() -> Waiting? {
      let next = waiting.popFirst()
      if next == nil { poster = 0 }
      return next
    }
  }

  /// A change that waits for the end of a post.
  private struct Waiting {
    let change: KVOChange<Value>
    /// The newest observer when the change was made.
    let newest: UInt64
  }

  /// What becomes of a change.
  private enum Turn {
    case first, beside, waits
  }

  let list = SourceRegistry.inCommonOrder.makeList(of: KVOChange<Value>.self)
  private let state = Locked(State())

  func post(_ change: KVOChange<Value>) {
    if list.isEmpty { return }
    switch takeTurn(change, on: SourceRegistry.currentThread) {
    case .waits: return
    case .beside: return list.post(change)
    case .first: list.post(change)
    }
    var next = state.withLock { $0.next() }
    while let waiting = next {
      list.post(waiting.change, in: 0...waiting.newest)
      let following = state.withLock { $0.next() }
      // Assigned outside the lock: the assignment releases the values of the previous change.
      next = following
    }
  }

  private func takeTurn(_ change: KVOChange<Value>, on thread: UInt) -> Turn {
    state.withLock { state in
      if state.poster == 0 {
        state.poster = thread
        return .first
      }
      // Each thread makes its prior calls itself.
      if change.step == .prior && state.poster != thread { return .beside }
      state.waiting.append(Waiting(change: change, newest: SourceRegistry.newestID))
      return .waits
    }
  }
}
