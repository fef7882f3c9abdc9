/// The registrations and the actions that end and run with an object.
///
/// Registrations refer to this part of a lifetime only, so that they do not keep the lifetime alive.
package final class EndActions: Sendable {
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
