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
/// With `.initial`, each observer and each reader begins with the newest value, and receives every
/// later change in order. A change that an observer makes is delivered after all observers have
/// received the change before. This is what the followers of a `CurrentValue` receive.
///
/// The old value of a change is then the value that the observer received before, even if changes of
/// several threads overlap. A bounded buffer that leaves changes out is an exception. The first change
/// after a pause that missed several is a setting, from the value that the observer knows.
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

  private let changes = PostedChanges<Value>()
  /// The newest change, for observers that begin with it.
  ///
  /// Its followers receive one change after the other. Each of them receives its first value before
  /// any newer one, whatever thread makes the change.
  private let newest: NewestChange<Value>?
  /// Whether calls without a new value are left out.
  private let isDistinct: Bool
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
    isDistinct = request.wishes.contains(.distinct)
    relay = Relay(registration)
    name = "\(request.path) of \(type(of: object))"
    if !isObserved { request.warnOfNothing(type(of: object)) }
  }

  func register(
    _ request: consuming ObservationRequest, _ body: consuming ObserverBody<KVOChange<Value>>,
    _ options: SourceOptions<KVOChange<Value>>
  ) -> Registration {
    guard let newest else {
      let receipt = changes.makeReceipt()
      let isWanted = body.isWanted
      var current = body.mapped(once: false) {
        [isDistinct] (posted: PostedChange<Value>, pass) in
        if let change = receipt.receive(posted, isDistinct: isDistinct) { try pass(change) }
      }
      if isWanted != nil || request.isBounded {
        // Asked once for each change that arrives at the observer's own buffer. What the observer
        // receives is decided later, when it is known what the buffer has left out.
        current = current.taking { posted, subject in
          let change = receipt.noteArrival(of: posted)
          return isWanted?(change, subject) ?? true
        }
      }
      return changes.list.register(request, current, isOnce: options.isOnce, keeping: relay)
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

/// The changes of one key path, posted to the observers of a source.
///
/// If an observer makes a change, those after it have not received the change before.
private final class PostedChanges<Value: Sendable>: Sendable {
  /// A post that has not returned.
  private struct Running {
    let thread: UInt
    let change: PostedChange<Value>
  }

  let list = SourceRegistry().makeList(
    of: PostedChange<Value>.self, named: KVOChange<Value>.self)
  private let running = Locked<[Running]>([])
  private let last = Atomic<UInt>(0)

  func post(_ change: KVOChange<Value>) {
    if list.isEmpty { return }
    let thread = SourceRegistry.currentThread
    let isChanged = change.step == .changed
    // One thread at a time tells changes, and others make their prior calls.
    let number =
      isChanged
      ? last.wrappingAdd(1, ordering: .relaxed).newValue : last.load(ordering: .relaxed)
    let posted = PostedChange(change, number)
    if isChanged {
      for outer in running.withLock({ $0 }) where outer.thread == thread {
        outer.change.replace(with: posted)
      }
    }
    running.withLock { $0.append(Running(thread: thread, change: posted)) }
    list.post(posted)
    let ended = running.withLock { running in
      running.lastIndex { $0.thread == thread }.map { running.remove(at: $0) }
    }
    // Released outside the lock.
    withExtendedLifetime(ended) {}
  }

  /// What an observer that registers now has received.
  func makeReceipt() -> Receipt { Receipt(last.load(ordering: .relaxed)) }

  /// What one observer has received.
  final class Receipt: Sendable {
    /// The number of the newest change.
    private let last: Atomic<UInt>

    init(_ last: UInt) { self.last = Atomic(last) }

    /// Notes that a change arrives at the observer's own buffer.
    ///
    /// - Returns: The change as the observer may receive it, to decide whether it takes room.
    func noteArrival(of posted: PostedChange<Value>) -> KVOChange<Value> {
      posted.original.renewed(by: posted.noteArrival(at: self))
    }

    /// Notes a change, and returns it as the observer is to receive it.
    ///
    /// - Parameter isDistinct: Whether to leave out a change whose value the observer has received.
    func receive(_ posted: PostedChange<Value>, isDistinct: Bool) -> KVOChange<Value>? {
      let (change, number) = (posted.original, posted.number)
      // A buffer may have left out the newer change that arrived before this one.
      let arrived = posted.newer(at: self)
      let newest = arrived?.number ?? number
      let known =
        change.step == .changed
        ? last.max(newest, ordering: .relaxed).oldValue : last.load(ordering: .relaxed)
      if arrived != nil || number < known {
        // A newer change was made inside this one: its value takes the place of the older one.
        if isDistinct && change.step == .changed && newest <= known { return nil }
        return change.renewed(by: arrived ?? posted.newer)
      }
      // The indexes of an edit mean nothing to an observer that has not received the change before.
      return change.step == .changed && number != known &+ 1 ? change.asSetting : change
    }
  }
}

extension KVOChange where Value: Sendable {
  /// The same change, with the value of a newer one if there is one.
  fileprivate func renewed(by newer: PostedChange<Value>?) -> Self {
    newer.map { renewed($0.original.new) } ?? self
  }
}

/// A change, and the newest one that observers have made while it was posted.
private final class PostedChange<Value: Sendable>: Sendable {
  typealias Receipt = PostedChanges<Value>.Receipt

  let original: KVOChange<Value>
  let number: UInt
  private let replacement = Locked<PostedChange?>(nil)
  /// The observers with their own buffer at which a newer change has arrived first, with that
  /// change.
  private let overtaken = Locked<[(receipt: Receipt, newer: PostedChange)]>([])
  /// Whether there are any, so that nearly all deliveries take no lock.
  private let isOvertaken = Atomic<Bool>(false)

  init(_ change: KVOChange<Value>, _ number: UInt) {
    original = change
    self.number = number
  }

  var newer: PostedChange? { replacement.withLock { $0 } }

  /// - Returns: The newer change that has arrived before this one, if any.
  func noteArrival(at receipt: Receipt) -> PostedChange? {
    guard let newer else { return nil }
    overtaken.withLock { $0.append((receipt, newer)) }
    isOvertaken.store(true, ordering: .releasing)
    return newer
  }

  /// The newer change that had arrived at an observer's own buffer before this one.
  func newer(at receipt: Receipt) -> PostedChange? {
    if !isOvertaken.load(ordering: .acquiring) { return nil }
    return overtaken.withLock { $0.first { $0.receipt === receipt }?.newer }
  }

  func replace(with change: PostedChange) {
    let last = replacement.withLock { replacement in
      defer { replacement = change }
      return replacement
    }
    // Released outside the lock.
    withExtendedLifetime(last) {}
  }
}
