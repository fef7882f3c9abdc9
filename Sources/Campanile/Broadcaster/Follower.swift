import Synchronization

/// The action of a follower when a change arrives.
///
/// Outside of the follower, it is not generic.
enum FollowerAction {
  case callInitial
  case tell
  case ignore
}

/// A follower that asked for more than the changes: an initial call, distinct changes, or one call.
///
/// It is called by the delivery, where the observer runs, and calls the observer. The first arrival
/// makes the initial call, whether it is the request for that call or a change. So the call is made
/// even if the request was skipped or found a full buffer. Changes that arrive during the initial
/// call wait here.
final class Follower<Value: Sendable>: Sendable {
  typealias Change = ValueChange<Value>

  /// Protected by the lock.
  struct StateMachine {
    private enum State {
      /// The initial call has not begun, and its request will certainly arrive: changes wait for
      /// it.
      case reserved([Change])
      /// The initial call has not begun: whatever arrives first begins it.
      case due
      /// The initial call runs; these changes wait for it.
      case calling([Change])
      case open
    }

    private var state: State
    /// The value that the initial call delivers, once it is known.
    private var beginning: Beginning?
    /// The revision that the initial call delivered; changes that are not newer have been
    /// delivered.
    private var told: UInt64 = 0
    /// Whether the end is to be reported after the changes that wait for the initial call.
    private var isEndDue = false

    init(isInitial: Bool, isImmediate: Bool) {
      // An immediate follower's initial call is made by the registering thread, before `observe` returns.
      state = isInitial ? isImmediate ? .reserved([]) : .due : .open
    }

    /// A value for the initial call, and the revision of the set that stored it.
    ///
    /// An object, so that the machine has one layout for every type of value.
    final class Beginning: Sendable {
      let value: Value
      let revision: UInt64

      init(_ value: Value, _ revision: UInt64) {
        self.value = value
        self.revision = revision
      }
    }

    @_optimize(size)
    mutating func arrive(_ change: Change) -> FollowerAction {
      switch state {
      case .reserved(var changes):
        if change.isInitial {
          state = .calling(changes)
          return .callInitial
        }
        state = .open
        changes.append(change)
        state = .reserved(changes)
        return .ignore
      case .due:
        state = .calling(change.isInitial ? [] : [change])
        return .callInitial
      case .calling(var changes):
        // Let go of the array before it grows, so that it need not be copied.
        state = .open
        if !change.isInitial { changes.append(change) }
        state = .calling(changes)
        return .ignore
      case .open:
        return change.isInitial || change.revision <= told ? .ignore : .tell
      }
    }

    /// Stores the value for the initial call, unless the call has begun.
    @_optimize(size)
    mutating func set(beginning value: Value, _ revision: UInt64) {
      switch state {
      case .reserved, .due: beginning = Beginning(value, revision)
      case .calling, .open: break
      }
    }

    /// - Returns: The value for the initial call, if it is known.
    mutating func takeBeginning() -> Beginning? { beginning.take() }

    mutating func beginInitial(telling revision: UInt64) { told = revision }

    /// Records that the request was skipped, if it has not arrived: then it may never arrive.
    ///
    /// - Returns: The changes that waited for it; the initial call will deliver a newer value.
    mutating func stopWaiting() -> [Change] {
      guard case .reserved(let changes) = state else { return [] }
      state = .due
      return changes
    }

    /// - Parameter isLast: Whether changes that arrive from now on do not wait.
    /// - Returns: The changes that arrived meanwhile, and the revision that the initial call
    ///   delivered; `nil` if there are no more changes.
    @_optimize(size)
    mutating func takeHeld(isLast: Bool) -> (changes: [Change], told: UInt64)? {
      guard case .calling(let changes) = state, !changes.isEmpty else {
        state = .open
        return nil
      }
      state = isLast ? .open : .calling([])
      return (changes, told)
    }

    /// - Returns: Whether the end may be reported now; otherwise the thread that makes the initial
    ///   call reports it.
    mutating func end() -> Bool {
      guard case .calling = state else { return true }
      isEndDue = true
      return false
    }

    /// Notes that the only value was read, so nothing more will be read.
    ///
    /// - Returns: The changes that waited behind it.
    mutating func stopCalling() -> [Change] {
      guard case .calling(let changes) = state else { return [] }
      state = .open
      return changes
    }

    /// - Returns: Whether the end is to be reported now.
    mutating func takeEnd() -> Bool {
      if case .calling = state { return false }
      defer { isEndDue = false }
      return isEndDue
    }
  }

  private let state: Locked<StateMachine>
  /// Known a moment after the registration is made.
  private let registration = Locked<Registration?>(nil)
  private let options: SourceOptions<ValueChange<Value>>
  /// Whether there is a buffer that may be full when the request arrives.
  private let isBounded: Bool
  private let hasCalled = Atomic<Bool>(false)
  private let location: CallSite
  private let storage: StateStorage<Value>
  private let missed: MissedChanges<Value>

  init(
    _ options: SourceOptions<ValueChange<Value>>, isImmediate: Bool, isBounded: Bool,
    _ location: CallSite,
    _ storage: StateStorage<Value>, _ missed: MissedChanges<Value>
  ) {
    state = Locked(StateMachine(isInitial: options.isInitial, isImmediate: isImmediate))
    self.options = options
    self.isBounded = isBounded
    self.location = location
    self.storage = storage
    self.missed = missed
  }

  /// Sets the registration that the changes are for.
  func bind(to registration: Registration?) {
    self.registration.withLock { $0 = registration }
  }

  /// Sets the value for the initial call; newer changes follow it.
  @_optimize(size)
  func begin(with value: Value, _ revision: UInt64) {
    state.withLock { $0.set(beginning: value, revision) }
  }

  /// Notes that the request for the initial call of an immediate follower has been made.
  ///
  /// The follower may have been paused before that.
  ///
  /// - Returns: Whether to make it again: changes waited for a request that was skipped.
  @_optimize(size)
  func noteRequest() -> Bool {
    let skipped = state.withLock { $0.stopWaiting() }
    // Released outside the lock.
    return withExtendedLifetime(skipped) { !skipped.isEmpty }
  }

  /// The change to deliver in place of a change that waited here, if any.
  @_optimize(size)
  private func admit(_ change: Change) -> Change? {
    guard !change.isInitial, let registration = registration.withLock({ $0 }) else {
      return change
    }
    guard let observer = storage.registry.observer(of: registration) else { return nil }
    return missed.admit(change, to: observer, isArrival: true)
  }

  /// Returns the observer with its calls routed through this follower.
  @_optimize(size)
  func wrap(_ body: ObserverBody<Change>) -> ObserverBody<Change> {
    body.wrapped(
      once: options.isOnce,
      { change, _, observer in try self.receive(change) { try observer($0, nil) } },
      inTask: { change, _, observer in
        try await self.receive(change) { try await observer($0, nil) }
      },
      read: { change, _, take, onEnd in try self.read(change, { try take($0, nil) }, onEnd) },
      end: { self.end($0) })
  }

  /// Delivers an arrival to a reader, and then the end if it arrived meanwhile.
  @_optimize(size)
  private func read(
    _ change: Change, _ take: (Change) throws -> Void, _ onEnd: () -> Void
  ) throws {
    defer { if state.withLock({ $0.takeEnd() }) { onEnd() } }
    do {
      try receive(change, isReader: true, take)
    } catch {
      let left = state.withLock { $0.stopCalling() }
      // Released outside the lock.
      withExtendedLifetime(left) {}
      throw error
    }
  }

  /// Reports the end to a reader, after the earlier changes.
  @_optimize(size)
  private func end(_ onEnd: () -> Void) {
    if state.withLock({ $0.end() }) { onEnd() }
  }

  /// - Parameter isReader: Whether arrivals are read in any case, even if the registration has
  ///   ended or was paused since.
  @_optimize(size)
  private func receive(
    _ change: Change, isReader: Bool = false, _ observer: (Change) throws -> Void
  ) throws {
    switch state.withLock({ $0.arrive(change) }) {
    case .ignore: return
    case .tell: try call(change, observer)
    case .callInitial:
      var batch: [Change]? = [beginInitial(change)]
      while let changes = batch {
        for change in changes {
          if let change = isReader ? change : admit(change) { try call(change, observer) }
        }
        batch = takeHeld()
      }
    }
  }

  /// Makes the initial call in a task.
  ///
  /// The changes that waited for the initial call are called one after the other. Later changes do
  /// not wait for them. The tasks of a concurrent observer run side by side, and another observer has
  /// one task at a time.
  @_optimize(size)
  private func receive(
    _ change: Change, _ observer: @Sendable (Change) async throws -> Void
  ) async throws {
    switch state.withLock({ $0.arrive(change) }) {
    case .ignore: return
    case .tell: try await call(change, observer)
    case .callInitial:
      var batch: [Change]? = [beginInitial(change)]
      while let changes = batch {
        for change in changes {
          if let change = admit(change) { try await call(change, observer) }
        }
        batch = takeHeld(isLast: true)
      }
    }
  }

  /// The change for the initial call; later changes are delivered after it.
  ///
  /// It carries the value at the registration, even if a change has overtaken the request. If a
  /// pause delayed the request, or a full buffer may have dropped it, it carries the newest value.
  ///
  /// - Parameter first: The first arrival: the request or a change.
  @_optimize(size)
  private func beginInitial(_ first: Change) -> Change {
    let beginning = state.withLock { $0.takeBeginning() }
    let isOnTime = !missed.hasMissedRequest && (first.isInitial || !isBounded)
    let known = (isOnTime ? beginning : nil).map { ($0.value, $0.revision) }
    let (value, revision) = known ?? storage.newest
    state.withLock { $0.beginInitial(telling: revision) }
    missed.noteTold(revision)
    return .initialRequest(value)
  }

  /// The newer changes that arrived while the initial call ran, or `nil` if there are no more.
  ///
  /// - Parameter isLast: Whether changes that arrive from now on do not wait.
  @_optimize(size)
  private func takeHeld(isLast: Bool = false) -> [Change]? {
    guard let held = state.withLock({ $0.takeHeld(isLast: isLast) }) else { return nil }
    // Changes that were delivered already are released here, outside the lock.
    return held.changes.filter { $0.revision > held.told }
  }

  private func call(_ change: Change, _ observer: (Change) throws -> Void) throws {
    guard isWanted(change) else { return }
    do {
      try observer(change)
    } catch {
      try report(error)
    }
    try endIfOnce()
  }

  @_optimize(size)
  private func call(
    _ change: Change, _ observer: @Sendable (Change) async throws -> Void
  ) async throws {
    guard isWanted(change) else { return }
    if options.isOnce { AsyncCall.refuseOthers() }
    do {
      try await observer(change)
    } catch is CancellationError where Task.isCancelled {
      // The task is the observer's own: canceled with its registration, it has not failed.
    } catch {
      try report(error)
    }
    try endIfOnce()
  }

  private func isWanted(_ change: Change) -> Bool {
    if options.isRepetition?(change) == true { return false }
    // The thread that makes the one call ends the registration when the call has returned. No order is
    // needed: one thread reads false, and the others do nothing.
    return !options.isOnce || !hasCalled.exchange(true, ordering: .relaxed)
  }

  private func endIfOnce() throws {
    if options.isOnce { throw ObservationIsOver() }
  }

  /// Reports a failure of the observer, and rethrows only the request to end the registration.
  @_optimize(size)
  private func report(_ error: any Error) throws {
    if error is ObservationIsOver { throw error }
    if let registration = registration.withLock({ $0 }) {
      storage.registry.noteFailed(registration, location)
    }
    storage.registry.report(error, at: location, valueType: Value.self)
  }
}
