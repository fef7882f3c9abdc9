import Synchronization

/// A follower that asked for more than the changes: an initial call, distinct changes, or one call.
///
/// It stands between the delivery and the observer, and is called where the observer runs. The
/// first thing that arrives, the request for the initial call or a change, makes that call; so it
/// is made also if the request was skipped or found no room. Changes that arrive meanwhile wait
/// here.
final class Follower<Value: Sendable>: Sendable {
  typealias Change = ValueChange<Value>

  /// Protected by the lock.
  struct StateMachine {
    private enum State {
      /// The initial call has not begun, and its request is sure to come: changes wait for it.
      case reserved([Change])
      /// The initial call has not begun: whatever arrives first begins it.
      case due
      /// The initial call runs; these changes wait for it.
      case calling([Change])
      case open
    }

    private var state: State
    /// What the initial call tells, and which of the sets it comes from.
    private var beginning: (value: Value, revision: UInt64)?
    /// The set that the initial call told; what is not newer has been told.
    private var told: UInt64 = 0
    /// Whether the end is to be told when the changes have been that wait for the initial call.
    private var isEndDue = false

    init(isInitial: Bool, isImmediate: Bool) {
      // An immediate follower's initial call is made by who registers it, before that returns.
      state = isInitial ? isImmediate ? .reserved([]) : .due : .open
    }

    enum ArriveAction {
      case callInitial
      case tell
      case ignore
    }
    mutating func arrive(_ change: Change) -> ArriveAction {
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

    /// Takes in what the initial call is to tell, unless it has begun.
    mutating func set(beginning value: Value, _ revision: UInt64) {
      switch state {
      case .reserved, .due: beginning = (value, revision)
      case .calling, .open: break
      }
    }

    /// - Returns: What the initial call tells, if that is known.
    mutating func takeBeginning() -> (value: Value, revision: UInt64)? { beginning.take() }

    mutating func beginInitial(telling revision: UInt64) { told = revision }

    /// Takes in that the request was skipped, if it has not come: then it is not sure to come.
    ///
    /// - Returns: what waited for it; the initial call will tell something newer.
    mutating func stopWaiting() -> [Change] {
      guard case .reserved(let changes) = state else { return [] }
      state = .due
      return changes
    }

    /// - Returns: what came meanwhile, or `nil` when there is no more, and the set that was told.
    mutating func takeHeld() -> (changes: [Change], told: UInt64)? {
      guard case .calling(let changes) = state, !changes.isEmpty else {
        state = .open
        return nil
      }
      state = .calling([])
      return (changes, told)
    }

    /// - Returns: whether the end may be told now; else who makes the initial call does that.
    mutating func end() -> Bool {
      guard case .calling = state else { return true }
      isEndDue = true
      return false
    }

    /// Takes in that the one value was read: nothing more will be.
    ///
    /// - Returns: what waited behind it.
    mutating func stopCalling() -> [Change] {
      guard case .calling(let changes) = state else { return [] }
      state = .open
      return changes
    }

    /// - Returns: whether the end is to be told now.
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
  /// Whether there is a buffer that may have no room for the request.
  private let isBounded: Bool
  private let hasCalled = Atomic<Bool>(false)
  private let location: SourceLocation
  private let storage: StateStorage<Value>
  private let missed: MissedChanges<Value>

  init(
    _ options: SourceOptions<ValueChange<Value>>, isImmediate: Bool, isBounded: Bool,
    _ location: SourceLocation,
    _ storage: StateStorage<Value>, _ missed: MissedChanges<Value>
  ) {
    state = Locked(StateMachine(isInitial: options.isInitial, isImmediate: isImmediate))
    self.options = options
    self.isBounded = isBounded
    self.location = location
    self.storage = storage
    self.missed = missed
  }

  /// Says whom the changes are for.
  func bind(to registration: Registration?) {
    self.registration.withLock { $0 = registration }
  }

  /// Says what the initial call tells: changes that are newer follow it.
  func begin(with value: Value, _ revision: UInt64) {
    state.withLock { $0.set(beginning: value, revision) }
  }

  /// Says that the request for the initial call of an immediate follower has been made.
  ///
  /// Somebody may have paused the follower before that.
  func noteRequest() {
    let skipped = state.withLock { $0.stopWaiting() }
    // Released outside the lock.
    withExtendedLifetime(skipped) {}
  }

  /// What is told in place of a change that waited here, if anything.
  private func admit(_ change: Change) -> Change? {
    guard !change.isInitial, let registration = registration.withLock({ $0 }) else {
      return change
    }
    guard let observer = storage.registry.observer(of: registration) else { return nil }
    return missed.admit(change, to: observer, isArrival: true)
  }

  /// The same observer with this follower before it.
  func wrap(_ body: ObserverBody<Change>) -> ObserverBody<Change> {
    body.wrapped(
      { change, _, observer in try self.receive(change) { try observer($0, nil) } },
      inTask: { change, _, observer in
        try await self.receive(change) { try await observer($0, nil) }
      },
      read: { change, _, take, onEnd in try self.read(change, { try take($0, nil) }, onEnd) },
      end: { self.end($0) })
  }

  /// Hands a reader what arrives, and its end if that came meanwhile.
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

  /// Tells a reader of the end, after what had come before.
  private func end(_ onEnd: () -> Void) {
    if state.withLock({ $0.end() }) { onEnd() }
  }

  /// - Parameter isReader: Whether what has arrived is read in any case, also if the registration
  ///   has ended or was paused since.
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
        batch = takeHeld()
      }
    }
  }

  /// The value that the initial call tells, from which on changes are told.
  ///
  /// That is the one at the registration, though a change may have overtaken the request. If the
  /// request was put off by a pause, or may have found no room in a buffer, the value is the newest.
  ///
  /// - Parameter first: What has arrived first, the request or a change.
  private func beginInitial(_ first: Change) -> Change {
    let beginning = state.withLock { $0.takeBeginning() }
    let isOnTime = !missed.hasMissedRequest && (first.isInitial || !isBounded)
    let (value, revision) = (isOnTime ? beginning : nil) ?? storage.newest
    state.withLock { $0.beginInitial(telling: revision) }
    return .initialRequest(value)
  }

  /// What came while the initial call ran and is newer, or `nil` when there is no more.
  private func takeHeld() -> [Change]? {
    guard let held = state.withLock({ $0.takeHeld() }) else { return nil }
    // What is left out is released here, outside the lock.
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

  private func call(
    _ change: Change, _ observer: @Sendable (Change) async throws -> Void
  ) async throws {
    guard isWanted(change) else { return }
    do {
      try await observer(change)
    } catch is CancellationError where Task.isCancelled {
      // The task is the observer's own: canceled with its registration, it has not failed.
      try endIfOnce()
      throw CancellationError()
    } catch {
      try report(error)
    }
    try endIfOnce()
  }

  private func isWanted(_ change: Change) -> Bool {
    if options.isRepetition?(change) == true { return false }
    // Whoever makes the one call ends the registration when it has returned.
    return !options.isOnce || !hasCalled.exchange(true, ordering: .sequentiallyConsistent)
  }

  private func endIfOnce() throws {
    if options.isOnce { throw ObservationIsOver() }
  }

  /// Reports a failure of the observer, and goes on; the wish to end goes through.
  private func report(_ error: any Error) throws {
    if error is ObservationIsOver { throw error }
    if let registration = registration.withLock({ $0 }) {
      storage.registry.note(.failed, of: Post(), at: registration.id, in: registration.list)
    }
    storage.registry.report(error, at: location, valueType: Value.self)
  }
}
