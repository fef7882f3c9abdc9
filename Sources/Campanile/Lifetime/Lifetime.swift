/// What happens when an object ends.
///
/// Stored in an object, a lifetime ends in that object's deinit, after the deinit's own body. It
/// can be used alone too. Safe from any thread.
public final class Lifetime: Sendable {
  let storage = Storage()

  /// Creates a lifetime that has not ended.
  public init() {}

  deinit { storage.end() }

  /// Runs `action` when the lifetime ends, on the thread on which it ends, after the actions
  /// before.
  ///
  /// The lifetime keeps the action until then.
  public func onEnd(_ action: @escaping @Sendable () -> Void) {
    storage.add(action)
  }

  /// What ends with a lifetime.
  ///
  /// Registrations know this part, so that they do not keep the other.
  final class Storage: Sendable {
    /// Protected by the lock.
    private struct State {
      var registrations: Set<Registration> = []
      var actions: [@Sendable () -> Void] = []
      var hasEnded = false
    }

    private let state = Locked(State())

    func add(_ action: @escaping @Sendable () -> Void) {
      let isLate = state.withLock { state in
        if !state.hasEnded { state.actions.append(action) }
        return state.hasEnded
      }
      if isLate { action() }
    }

    /// Ends `registration` with the lifetime.
    func add(_ registration: Registration) {
      let isLate = state.withLock { state in
        if !state.hasEnded { state.registrations.insert(registration) }
        return state.hasEnded
      }
      if isLate {
        registration.cancel()
      } else if !registration.isKept {
        // It ended before it stood here, and has not taken itself out.
        remove(registration)
      }
    }

    func remove(_ registration: Registration) {
      state.withLock { _ = $0.registrations.remove(registration) }
    }

    func end() {
      let taken = state.withLock { state in
        state.hasEnded = true
        defer {
          state.registrations = []
          state.actions = []
        }
        return (state.registrations, state.actions)
      }
      for registration in taken.0 { registration.cancel() }
      for action in taken.1 { action() }
    }
  }
}
