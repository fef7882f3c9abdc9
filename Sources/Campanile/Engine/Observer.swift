import Synchronization

/// One registered observer: its closure and the word that says whether it may be called.
///
/// `state` is the registration word. It is 0 for an observer that may simply be called: a
/// `DirectObserver` that receives only the value. So the common check is one load and one branch.
/// `claim()` examines every other value.
class AnyObserver: @unchecked Sendable {
  private static let endedBit: UInt32 = 1
  private static let onceBit: UInt32 = 2
  // The kind of observer, which never changes.
  private static let indirectBit: UInt32 = 4
  private static let deferredBit: UInt32 = 8
  private static let subjectBit: UInt32 = 16
  private static let lastingBit: UInt32 = 32
  /// Set while an observer of a state is paused and has missed something.
  private static let missedBit: UInt32 = 64
  private static let pauseUnit: UInt32 = 256

  // Few words, since there may be a million observers.
  let location: CallSite
  private let state: Atomic<UInt32>
  /// Everything that the registration needs in addition to its closure.
  final let details: ObserverDetails?

  fileprivate init(isDirect: Bool, isDeferred: Bool, traits: ObserverTraits) {
    (location, details) = (traits.location, traits.details)
    state = Atomic(
      (traits.isOnce ? Self.onceBit : 0) | (isDirect ? 0 : Self.indirectBit)
        | (isDeferred ? Self.deferredBit : 0) | (traits.receivesSubject ? Self.subjectBit : 0)
        | (traits.isLasting ? Self.lastingBit : 0))
  }

  private final func has(_ bit: UInt32) -> Bool {
    // No pair: the bits that are asked for here never change.
    state.load(ordering: .relaxed) & bit != 0
  }

  fileprivate final var isDirect: Bool { !has(Self.indirectBit) }
  /// Whether the value first waits in the observer's own buffer, and the call that counts is made
  /// later.
  final var isDeferred: Bool { has(Self.deferredBit) }
  /// Whether the observer receives the subject.
  final var receivesSubject: Bool { has(Self.subjectBit) }

  enum Claim {
    case call
    case callAndEnd
    case skip
  }

  /// Whether the observer may be called without further checks: it is live, a `DirectObserver`, and
  /// needs only the call.
  final var isReady: Bool {
    // Pairs with `markEnded`: after this thread's earlier stores, before a canceler's later loads.
    state.load(ordering: .sequentiallyConsistent) == 0
  }

  /// Decides, just before a call, whether the call may be made.
  ///
  /// An observer of a state that is paused notes that it misses something.
  ///
  /// - Parameter deferred: Whether the value has waited in the observer's own buffer.
  final func claim(deferred: Bool = false) -> Claim {
    while true {
      // Pairs with `markEnded`, as in `isReady`.
      let word = state.load(ordering: .sequentiallyConsistent)
      let claim = claim(word, isLast: deferred || !isDeferred)
      if claim != .skip || details?.onResume == nil || noteMiss() { return claim }
      // It has just resumed.
    }
  }

  /// - Parameter isLast: Whether the observer's own closure is called next; only that call uses up
  ///   an observer with `.once`.
  private final func claim(_ loaded: UInt32, isLast: Bool) -> Claim {
    var word = loaded
    while true {
      if word & Self.endedBit != 0 || word >= Self.pauseUnit { return .skip }
      if word & Self.onceBit == 0 || !isLast { return .call }
      // Pairs with `markEnded` and `pause`: one word, so that one of them is first.
      let (won, seen) = state.compareExchange(
        expected: word, desired: word | Self.endedBit, ordering: .acquiringAndReleasing)
      if won { return word & Self.lastingBit == 0 ? .callAndEnd : .call }
      word = seen
    }
  }

  /// Says that no call is to begin any more.
  ///
  /// Before the reservations are read: a post sees this or is seen there.
  final func markEnded(_ held: borrowing ObserverRegistry.Held) {
    if has(Self.onceBit) {
      // Without the lock, a post may be about to use the only call up.
      // Pairs with `claim`: the canceler's side of what `isReady` says.
      state.bitwiseOr(Self.endedBit, ordering: .sequentiallyConsistent)
    } else {
      // Pairs with `isReady`: the same. A store without the lock, of `noteMiss`, may be lost: what an
      // ended observer missed is of no use.
      state.store(state.load(ordering: .relaxed) | Self.endedBit, ordering: .sequentiallyConsistent)
    }
  }

  /// Says that no other call is to begin: the only one has begun, and ends the registration.
  final func useUp() {
    // Pairs with `isReady`, `claim` and `markEnded`: it only adds what `markEnded` stores too.
    state.bitwiseOr(Self.endedBit, ordering: .sequentiallyConsistent)
  }

  final func pause() {
    // Pairs with `isReady`, `claim` and `noteMiss`, as an end does: before this thread's later loads.
    let (_, word) = state.wrappingAdd(Self.pauseUnit, ordering: .sequentiallyConsistent)
    if word < Self.pauseUnit { misuse("A registration was paused sixteen million times") }
  }

  /// Undoes one pause; the caller has made sure that there is one.
  ///
  /// - Returns: Whether it was the last, and something was missed.
  final func resume() -> Bool {
    // No pair: the exchange below finds out what has changed since.
    var word = state.load(ordering: .relaxed)
    while true {
      let isLast = word < 2 * Self.pauseUnit
      let desired = (word - Self.pauseUnit) & (isLast ? ~Self.missedBit : ~0)
      // Pairs with `noteMiss`, one of which is first in this word; and with `isReady` and `claim`, as
      // an addition does with `isEmpty`: before the later loads of the thread that resumes.
      let (won, seen) = state.compareExchange(
        expected: word, desired: desired, ordering: .sequentiallyConsistent)
      if won { return isLast && word & Self.missedBit != 0 }
      word = seen
    }
  }

  /// Notes that something is missed, if the observer is paused.
  ///
  /// In one step, so that the thread that undoes the last pause sees it, or was first.
  ///
  /// - Returns: Whether the observer is paused, or has ended.
  final func noteMiss() -> Bool {
    // Pairs with `pause` and `resume`, as `isReady` does: after this thread's earlier stores.
    var word = state.load(ordering: .sequentiallyConsistent)
    while word >= Self.pauseUnit && word & Self.endedBit == 0 {
      // Pairs with `resume`, which returns the bit or comes first.
      let (won, seen) = state.compareExchange(
        expected: word, desired: word | Self.missedBit, ordering: .acquiringAndReleasing)
      if won { return true }
      word = seen
    }
    return word & Self.endedBit != 0
  }

  /// The registration of this observer as `id` in `list`.
  final func registration(_ id: UInt64, in list: ObserverList) -> Registration {
    Registration(list: list, id: id, counters: details?.counters)
  }

  final var isPaused: Bool {
    // Pairs with `pause` and `resume`.
    state.load(ordering: .acquiring) >= Self.pauseUnit
  }
  final var isEnded: Bool {
    // Pairs with `markEnded`, as in `isReady`: after this thread's earlier stores.
    state.load(ordering: .sequentiallyConsistent) & Self.endedBit != 0
  }
}

/// An observer that wants the value and nothing else.
final class DirectObserver<Value>: AnyObserver, @unchecked Sendable {
  // `let`, so that a call needs no retain of the closure's context.
  fileprivate let body: (Value) throws -> Void

  required init(_ traits: ObserverTraits, _ body: @escaping (Value) throws -> Void) {
    self.body = body
    super.init(isDirect: true, isDeferred: false, traits: traits)
  }
}

extension AnyObserver {
  /// An observer that wants the value and nothing else.
  @inline(__always)
  static func direct<Value>(
    _ traits: ObserverTraits, _ body: consuming @escaping (Value) throws -> Void
  ) -> AnyObserver {
    let known = ObserverClasses.find(for: Value.self) { directClass(of: Value.self) }
    // SAFETY: found for `Value`.
    let type = unsafe unsafeBitCast(known, to: DirectObserver<Value>.Type.self)
    return type.init(traits, body)
  }

  // A function of its own, because a function looks up the class that it names even if it does not use
  // it.
  @inline(never)
  private static func directClass<Value>(of type: Value.Type) -> AnyObserver.Type {
    DirectObserver<Value>.self
  }
}

/// A call that was checked and is to be made in a task.
typealias PreparedCall = @Sendable () async -> Void

/// An observer that receives the post, or first puts the value into a buffer of its own.
final class IndirectObserver<Value>: AnyObserver, @unchecked Sendable {
  /// The closure that runs where the value is posted.
  fileprivate let body: Body
  /// The closure that runs when the value has waited in the buffer, if there is one.
  fileprivate let deferred: Deferred?

  /// Called with the value, the post, and the registration's identifier and list, none of which is
  /// retained for the call.
  typealias Body = (Value, Post, UInt64, ObserverList) throws -> Void
  /// Called with the same arguments; returns the call itself, if that is asynchronous.
  typealias Deferred = (Value, Post, UInt64, ObserverList) throws -> PreparedCall?

  init(_ traits: ObserverTraits, deferred: Deferred? = nil, _ body: @escaping Body) {
    self.body = body
    self.deferred = deferred
    super.init(isDirect: false, isDeferred: deferred != nil, traits: traits)
  }

  /// An observer whose values wait in a mailbox of its own.
  ///
  /// - Parameters:
  ///   - target: The place where the mailbox is emptied.
  ///   - isWanted: Selects the values that wait; `nil` for all.
  convenience init(
    _ traits: ObserverTraits, in mailbox: Mailbox, for target: any DeliveryTarget,
    where isWanted: ((Value, Post) -> Bool)?, deferred: @escaping Deferred
  ) {
    let receivesSubject = traits.receivesSubject
    self.init(traits, deferred: deferred) { value, post, id, list in
      guard isWanted?(value, post) ?? true else { return }
      mailbox.append(value, post.kept(withSubject: receivesSubject), at: id, in: list, for: target)
    }
  }

  /// Returns the deferred call of an observer that wants the value alone, at the other place itself.
  static func calling(_ body: @escaping (Value) throws -> Void) -> Deferred {
    { value, _, _, _ in
      try body(value)
      return nil
    }
  }
}

extension AnyObserver {
  /// Calls the closure of an observer that is ready, at +0: neither it nor the value is retained.
  @inline(__always)
  final func callDirectly<Value>(_ value: Value) throws {
    // SAFETY: a list of `Value` holds observers of `Value` alone; one that is ready is direct.
    try unsafe unsafeDowncast(self, to: DirectObserver<Value>.self).body(value)
  }

  /// Calls the closure, with the parts of the post that it asked for.
  final func call<Value>(
    _ value: Value, _ post: borrowing Post, _ id: UInt64, in list: ObserverList
  ) throws {
    // SAFETY: as above; `isDirect` tells which class.
    if isDirect { return try callDirectly(value) }
    try unsafe unsafeDowncast(self, to: IndirectObserver<Value>.self)
      .body(value, copy post, id, list)
  }

  /// Calls what runs when the value has waited in the observer's own buffer.
  ///
  /// - Returns: The call that is still to be made in a task, if any.
  final func callDeferred<Value>(
    _ value: Value, _ post: borrowing Post, _ id: UInt64, in list: ObserverList
  ) throws -> PreparedCall? {
    // SAFETY: as in `call`; only indirect observers have a buffer of their own.
    try unsafe unsafeDowncast(self, to: IndirectObserver<Value>.self)
      .deferred?(value, copy post, id, list) ?? nil
  }
}

/// Everything that a registration needs in addition to its closure.
final class ObserverDetails: Sendable {
  /// The owner, never kept alive by us.
  private let ownerReference: OwnerReference<AnyObject>?
  let ownerType: (any AnyObject.Type)?
  let ownerID: ObjectIdentifier?
  let delivery: String
  /// Whether the calls are made in tasks.
  let isAsynchronous: Bool
  /// Called once, when the registration has ended, outside all locks.
  let onEnd: (@Sendable (Registration) -> Void)?
  let buffer: BufferCounts?
  /// Called when an observer resumes that has missed something; only observers of states have it.
  let onResume: (@Sendable (Registration) -> Void)?

  /// - Parameters:
  ///   - swept: A reference to the owner, if the source only checks it from time to time.
  ///   - sweptType: The type of that owner.
  init(
    owner: (any AnyObject & Sendable)? = nil,
    swept: OwnerReference<AnyObject>? = nil,
    sweptType: (any AnyObject.Type)? = nil,
    delivery: String,
    isAsynchronous: Bool = false,
    buffer: BufferCounts? = nil,
    onResume: (@Sendable (Registration) -> Void)? = nil,
    onEnd: (@Sendable (Registration) -> Void)? = nil
  ) {
    ownerReference = owner.map { OwnerReference($0) } ?? swept
    ownerType = owner.map { type(of: $0) } ?? sweptType
    ownerID = owner.map { ObjectIdentifier($0) }
    self.delivery = delivery
    self.isAsynchronous = isAsynchronous
    self.buffer = buffer
    self.onResume = onResume
    self.onEnd = onEnd
  }

  /// Whether there was an owner.
  var hasOwner: Bool { ownerReference != nil }

  var counters: DeliveryCounters? { buffer?.counters }

  /// Whether there was an owner and its deinit has begun.
  var isOwnerGone: Bool { ownerReference.map { $0.object == nil } ?? false }
}

/// How a registration is to be kept.
struct ObserverTraits {
  var location: CallSite
  var isOnce = false
  var receivesSubject = false
  /// Whether the call continues in a task, and itself ends a registration with `.once`.
  var isLasting = false
  var details: ObserverDetails?
}
