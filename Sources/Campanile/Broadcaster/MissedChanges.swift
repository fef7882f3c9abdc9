/// The changes that a follower of a state misses during a pause, and receives as one when it
/// resumes.
///
/// While anything is stored here, a bit in the registration word is set. While the bit is set,
/// every change for the follower passes through here. After a set that skips a paused follower, the
/// bit stays set until a newer change reaches the follower.
final class MissedChanges<Value: Sendable>: Sendable {
  typealias Change = ValueChange<Value>

  /// The changes missed at one place; it decides, and the lists act.
  struct StateMachine {
    /// An object, so that the machine has one layout for every type of value.
    private final class Range: Sendable {
      /// The value that the follower knew, and the value after the last missed change.
      let old: Value?
      let new: Value
      let revisions: ClosedRange<UInt64>

      /// Whether only the request for the initial call was missed.
      var isRequest: Bool { revisions.upperBound == 0 }

      init(old: Value?, new: Value, revisions: ClosedRange<UInt64>) {
        self.old = old
        self.new = new
        self.revisions = revisions
      }

      convenience init(_ change: Change) {
        self.init(old: change.old, new: change.new, revisions: change.revision...change.revision)
      }
    }

    private var missed: Range?

    var isEmpty: Bool { missed == nil }
    /// The number of the last change that was missed, or 0.
    var last: UInt64 { missed?.revisions.upperBound ?? 0 }

    /// Stores a skipped change.
    @_optimize(size)
    mutating func miss(_ change: Change) {
      guard let range = missed, !range.isRequest else {
        missed = Range(change)
        return
      }
      // A change also begins the initial call. If that call has begun, a request has no effect.
      if change.isInitial { return }
      // The calls of a concurrent observer have no order.
      let (first, last) = (range.revisions.lowerBound, range.revisions.upperBound)
      missed = Range(
        old: change.revision < first ? change.old : range.old,
        new: change.revision > last ? change.new : range.new,
        revisions: min(first, change.revision)...max(last, change.revision))
    }

    /// - Returns: The change to deliver when `change` arrives: it includes the changes that were
    ///   missed before.
    mutating func pass(_ change: Change) -> Change {
      guard let range = missed, change.revision > range.revisions.upperBound else { return change }
      missed = nil
      if range.isRequest { return change }
      return Change(old: range.old, new: change.new, revision: change.revision)
    }

    /// Forgets what was missed up to `change`.
    ///
    /// Another thread may have delivered later changes already; they remain.
    @_optimize(size)
    mutating func drop(upTo change: Change) {
      guard let range = missed, range.revisions.lowerBound <= change.revision else { return }
      let last = range.revisions.upperBound
      missed =
        last > change.revision
        ? Range(old: change.new, new: range.new, revisions: change.revision + 1...last) : nil
    }

    /// - Returns: The request for the initial call, if only that was missed.
    mutating func endRequest() -> Change? { missed?.isRequest == true ? end() : nil }

    /// - Returns: One change in place of the missed ones, if any; the request for the initial call,
    ///   if only that was missed.
    mutating func end() -> Change? {
      missed.take().map { Change(old: $0.old, new: $0.new, revision: $0.revisions.upperBound) }
    }
  }

  /// Protected by the lock.
  private struct State {
    /// The changes that were not sent to the follower's own place, if it has one.
    var unsent = StateMachine()
    /// The changes that were not delivered where the follower is called.
    var untold = StateMachine()
    /// Whether the request for the initial call was ever missed.
    var hasMissedRequest = false
    /// The number of requests on their way to the place where the follower is called.
    var requestCount = 0
    /// The last merged change that was sent while older ones had not been delivered.
    var including: UInt64 = 0
    /// The newest change whose value the follower knows although the change was not delivered.
    var known: UInt64 = 0
    /// Whether changes up to `known` may be on their way.
    var areKnownOnTheirWay = false
    /// Whether the initial call has not begun.
    var isInitialDue: Bool

    /// Whether every change for the follower is to pass through here.
    var isNeeded: Bool {
      !unsent.isEmpty || !untold.isEmpty || requestCount != 0 || areKnownOnTheirWay
    }

    /// - Returns: The change that answers a request, or the request itself if it must be sent on.
    mutating func answer(_ request: Change, isArrival: Bool) -> Change? {
      if !isArrival && !untold.isEmpty {
        if unsent.isEmpty { return request }
        // The merged change also covers changes that never reached the observer.
        including = unsent.last
      }
      requestCount -= 1
      return isArrival ? untold.end() : unsent.end()
    }

    /// Drops what was missed before a change that is not for the follower.
    @_optimize(size)
    mutating func omit(_ change: Change) {
      known = max(known, change.revision)
      areKnownOnTheirWay = true
      unsent.drop(upTo: change)
      untold.drop(upTo: change)
      if isInitialDue {
        // A change that is dropped on its way may have taken the place of the request.
        hasMissedRequest = true
        untold.miss(.initialRequest(change.new))
      }
    }
  }

  private let state: Locked<State>
  private let storage: StateStorage<Value>
  private let isOldWanted: Bool

  /// - Parameters:
  ///   - isInitialDue: Whether the follower asked for an initial call.
  ///   - isOldWanted: Whether the follower uses the old values of changes.
  init(of storage: StateStorage<Value>, isInitialDue: Bool, isOldWanted: Bool = true) {
    self.storage = storage
    self.isOldWanted = isOldWanted
    state = Locked(State(isInitialDue: isInitialDue))
    if isOldWanted { storage.wishForOld(1) }
  }

  deinit { if isOldWanted { storage.wishForOld(-1) } }

  /// Whether a merged change was sent while older ones had not been delivered.
  func includesUntold(_ change: Change) -> Bool {
    state.withLock { $0.including == change.revision }
  }

  /// Whether a pause delayed the initial call.
  var hasMissedRequest: Bool { state.withLock { $0.hasMissedRequest } }

  /// Decides about a change whose follower may not simply be called.
  ///
  /// - Parameter isArrival: Whether the follower is called here, instead of receiving the change at
  ///   its own place.
  /// - Returns: The change to deliver to the follower, if any.
  func admit(_ change: Change, to observer: AnyObserver, isArrival: Bool) -> Change? {
    edit(observer) { state in
      if observer.isEnded { return nil }
      return decide(change, observer, isArrival: isArrival, &state)
    }
  }

  /// Drops what a paused follower missed before a change that is set for all other followers.
  ///
  /// The owner of the follower knows the value of that change, so the follower must not receive an
  /// older one. A follower that is not paused receives the changes on their way.
  func omit(_ change: Change, for observer: AnyObserver) {
    edit(observer) { if observer.noteMiss() { $0.omit(change) } }
  }

  /// Notes that the initial call carries the value of a change, which may arrive later.
  func noteTold(_ revision: UInt64) {
    state.withLock { state in
      state.known = max(state.known, revision)
      state.isInitialDue = false
    }
  }

  @_optimize(size)
  private func edit<Result: Sendable>(
    _ observer: AnyObserver, _ body: (inout State) -> Result
  ) -> Result {
    // The removed changes are released outside the lock, with this copy.
    let (result, before) = state.withLock { state -> (Result, State) in
      let before = state
      let result = body(&state)
      if !state.isNeeded { observer.forgetMiss() }
      return (result, before)
    }
    withExtendedLifetime(before) {}
    return result
  }

  @_optimize(size)
  private func decide(
    _ change: Change, _ observer: AnyObserver, isArrival: Bool, _ state: inout State
  ) -> Change? {
    if change.isResumption {
      if !observer.isPaused { return state.answer(change, isArrival: isArrival) }
      // It is made again when the follower resumes.
      state.requestCount -= 1
      return nil
    }
    if !change.isInitial {
      if change.revision <= state.known {
        // It may have taken the place of the request for the initial call, in a full buffer.
        return isArrival && !observer.isPaused ? state.untold.endRequest() : nil
      }
      // The older ones have arrived, except for a concurrent observer.
      if isArrival { state.areKnownOnTheirWay = false }
    }
    let isPaused = observer.noteMiss()
    if isPaused && change.isInitial { state.hasMissedRequest = true }
    switch (isPaused, isArrival) {
    case (true, true): state.untold.miss(change)
    case (true, false): state.unsent.miss(change)
    case (false, true): return state.untold.pass(change)
    case (false, false): return state.unsent.pass(change)
    }
    return nil
  }
}

/// Keeps values for an observer that the engine would skip.
protocol SkipKeeper: AnyObject, Sendable {
  /// Decides about a value that was skipped because of a pause now or before.
  ///
  /// - Returns: The value to call the observer with instead, if it is to be called.
  func admit<Value>(_ value: Value, to observer: AnyObserver, isArrival: Bool) -> Value?

  /// Notes that a resume request is not delivered.
  ///
  /// - Returns: Whether `value` is such a request.
  func forget<Value>(_ value: Value, of observer: AnyObserver) -> Bool

  /// Continues after a pause.
  ///
  /// Called with no lock held, because it may call the observer.
  func resume(_ registration: Registration)
}

extension MissedChanges: SkipKeeper {
  @_optimize(size)
  func admit<Skipped>(_ value: Skipped, to observer: AnyObserver, isArrival: Bool) -> Skipped? {
    guard let change = value as? Change else { return nil }
    return admit(change, to: observer, isArrival: isArrival) as? Skipped
  }

  @_optimize(size)
  func forget<Dropped>(_ value: Dropped, of observer: AnyObserver) -> Bool {
    guard let change = value as? Change, change.isResumption else { return false }
    edit(observer) { $0.requestCount -= 1 }
    return true
  }

  func resume(_ registration: Registration) {
    let isToAsk = state.withLock { state in
      // A queued resume request already covers the missed changes; a second one would evict a change
      // from a full buffer.
      let isToAsk = !state.unsent.isEmpty || !state.untold.isEmpty && state.requestCount == 0
      if isToAsk { state.requestCount += 1 }
      return isToAsk
    }
    if isToAsk { storage.tellMissed(registration) }
  }
}

extension Envelope {
  /// Forgets a resume request that is not delivered.
  ///
  /// A newer value has taken its place, or its target discards what waits. The follower gets what it
  /// missed with the next value, or after its next pause.
  ///
  /// - Returns: Whether `value` is the request.
  @inline(never)
  @_optimize(size)
  func takeBack<Value>(_ value: Value) -> Bool {
    guard isResumption else { return false }
    let (list, id) = destination
    guard let list,
      let observer = list.registry.observer(of: Registration(list: list, id: id, counters: nil))
    else { return false }
    return observer.details?.skipKeeper?.forget(value, of: observer) ?? false
  }
}

extension ObserverRegistry {
  /// Calls an observer of a state instead of skipping it: the state keeps what the observer missed.
  @inline(never)
  @_optimize(size)
  func callSkipped<Value>(
    _ observer: AnyObserver, _ id: UInt64, in list: ObserverList, _ value: Value,
    _ post: borrowing Post
  ) {
    let isArrival = !observer.hasArrival
    let registration = { Registration(list: list, id: id, counters: observer.details?.counters) }
    guard let keeper = observer.details?.skipKeeper,
      let told = keeper.admit(value, to: observer, isArrival: isArrival)
    else {
      // A request of a state, which was not reported when it was queued, is reported only during a pause.
      if post.number != 0 || observer.isPaused { noteSkipped(observer, registration(), post) }
      return
    }
    let call = isArrival ? begin(observer, registration(), post) : nil
    reach(.willCall)
    do {
      try call.around { try observer.call(told, post, id, in: list) }
    } catch {
      handle(error, of: observer, id, in: list, post)
    }
    end(call)
  }

  /// Calls it at the place to which the value was sent.
  ///
  /// - Returns: The call, if it is to be made in a task.
  @inline(never)
  @_optimize(size)
  func arriveSkipped<Value>(
    _ observer: AnyObserver, _ value: Value, _ post: borrowing Post, at id: UInt64,
    in list: ObserverList
  ) -> PreparedCall? {
    guard let keeper = observer.details?.skipKeeper,
      let told = keeper.admit(value, to: observer, isArrival: true)
    else {
      noteSkipped(observer, Registration(list: list, id: id, counters: nil), post)
      return nil
    }
    return callArrival(observer, told, post, at: id, in: list)
  }

  /// Reports that an observer is not called because of a pause now or before, unless it has ended.
  @inline(never)
  @_optimize(size)
  private func noteSkipped(
    _ observer: AnyObserver, _ registration: Registration, _ post: borrowing Post
  ) {
    if observer.isEnded { return }
    note(.skipped, of: post, observer, registration)
  }

  /// The observer of a registration, unless it has ended.
  @inline(never)
  func observer(of registration: Registration) -> AnyObserver? {
    withObserver(of: registration) { $0 }
  }
}
