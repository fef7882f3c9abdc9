/// Runs actions when an object ends.
///
/// A lifetime that is stored in an object ends in that object's deinit, after the body of the
/// deinit. A lifetime can be used alone too. All methods are safe from any thread.
public final class Lifetime: Sendable {
  let storage = Storage()

  /// Creates a lifetime that has not ended.
  public init() {}

  deinit { storage.end() }

  /// Runs `action` when the lifetime ends, on the thread on which it ends, after earlier actions.
  ///
  /// The lifetime keeps the action until then.
  public func onEnd(_ action: @escaping @Sendable () -> Void) {
    storage.add(action)
  }

  /// The part of a lifetime that ends its registrations.
  ///
  /// Registrations refer only to this part, so that they do not keep the lifetime alive.
  final class Storage: Sendable {
    /// Protected by the lock.
    private struct State {
      var registrations: Set<Registration> = []
      var actions: [@Sendable () -> Void] = []
      var hasEnded = false
    }

    private let state = Locked(State())

    @_optimize(size)
    func add(_ action: @escaping @Sendable () -> Void) {
      let isLate = state.withLock { state in
        if !state.hasEnded { state.actions.append(action) }
        return state.hasEnded
      }
      if isLate { action() }
    }

    /// Ends `registration` with the lifetime.
    @_optimize(size)
    func add(_ registration: Registration) {
      let isLate = state.withLock { state in
        if !state.hasEnded { _ = state.registrations.put(registration) }
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
      state.withLock { $0.registrations.drop(registration) }
    }

    @_optimize(size)
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
