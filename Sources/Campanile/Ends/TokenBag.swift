/// A group of observations that pause, resume and end together.
///
/// A screen that appears and disappears:
///
/// ```swift
/// private let observations = TokenBag()
///
/// func load() {
///   player.isPlaying.observe(owner: self, on: .main) { … }.store(in: observations)
/// }
/// func willAppear() { observations.resume() }
/// func didDisappear() { observations.pause() }
/// ```
///
/// Releasing the bag ends the observations in it. All methods are safe from any thread and from
/// inside an observer; no lock is held while a registration ends.
public final class TokenBag: Sendable {
  /// Protected by the lock.
  private struct State {
    var registrations: Set<Registration> = []
    var pauseCount = 0
    var schedule = PurgeSchedule(from: 32)

    /// Forgets the registrations that have ended by themselves, once in a while.
    ///
    /// - Returns: What to release outside the lock: a handle may be the last to keep its source's
    ///   closures.
    mutating func purge() -> Set<Registration> {
      guard schedule.isDue(registrations.count) else { return [] }
      let before = registrations
      for registration in before where !registration.isKept { registrations.drop(registration) }
      schedule.note(registrations.count)
      return before
    }
  }

  private let state = Locked(State())

  /// Creates an empty bag.
  public init() {}

  deinit { cancel() }

  /// Ends the observation of `token` with the bag, as ``insert(_:)-(Registration)`` does; the release of
  /// the token no longer does.
  public func insert(_ token: ObservationToken) {
    insert(token.registration)
    token.disarm()
  }

  /// Ends `registration` with the bag.
  ///
  /// If the bag is paused, the registration is paused as many times. Inserting a registration twice
  /// has no further effect.
  public func insert(_ registration: Registration) {
    withExtendedLifetime(state.withLock { $0.purge() }) {}
    // Pausing is done under the lock, so that a pause or resume of the bag meanwhile is not missed;
    // it runs nothing foreign.
    state.withLock { state in
      guard state.registrations.put(registration) else { return }
      for _ in 0..<state.pauseCount { registration.pause() }
    }
  }

  /// Ends all observations in the bag and empties it.
  ///
  /// The bag can be used again, and stays paused if it was paused.
  public func cancel() {
    let taken = state.withLock { state in
      defer {
        state.registrations = []
        state.schedule = PurgeSchedule(from: 32)
      }
      return state.registrations
    }
    for registration in taken { registration.cancel() }
  }

  /// Pauses all observations in the bag until ``resume()`` has been called once for each pause.
  ///
  /// A registration that is inserted during a pause is paused too.
  public func pause() {
    state.withLock { state in
      state.pauseCount += 1
      for registration in state.registrations { registration.pause() }
    }
  }

  /// Undoes one ``pause()``; if the bag is not paused, it does nothing.
  ///
  /// Observers of states that have missed something receive the newest value, as with
  /// ``Registration/resume()``; those of one state in the order in which they registered.
  public func resume() {
    let resumed = state.withLock { state -> [Registration] in
      if state.pauseCount == 0 { return [] }
      state.pauseCount -= 1
      return state.registrations.filter { $0.takeBackPause() }
    }
    for one in resumed.oldestFirst { one.tellMissed() }
  }

  /// Whether the bag is paused.
  public var isPaused: Bool { state.withLock { $0.pauseCount > 0 } }

  /// The number of registrations in the bag that have not ended.
  ///
  /// Observations of an owner that has died do not count.
  public var count: Int {
    // Asked outside the lock: the question can release an owner.
    state.withLock { $0.registrations }.count(where: \.isActive)
  }
}

extension Registration {
  /// Ends this registration when `bag` ends.
  public func store(in bag: TokenBag) { bag.insert(self) }
}

extension ObservationToken {
  /// Ends the registration with `bag`, and no longer with the release of the token.
  public func store(in bag: TokenBag) { bag.insert(self) }
}
