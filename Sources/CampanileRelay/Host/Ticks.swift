import Campanile
import Dispatch

/// Calls a handler each tenth of a second while there is something to wait for, and otherwise never: a
/// process that waits for nothing does not wake the computer.
final class Ticks: Sendable {
  private struct State {
    let timer: any DispatchSourceTimer
    var runs = false
  }

  private let state: Locked<State>

  init(on queue: DispatchQueue) {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .distantFuture)
    timer.activate()
    state = Locked(State(timer: timer))
  }

  deinit { end() }

  func start(_ handle: @escaping @Sendable () -> Void) {
    state.withLock { $0.timer.setEventHandler(handler: handle) }
  }

  /// - Returns: Whether it begins now.
  @discardableResult
  func set(_ isNeeded: Bool) -> Bool {
    state.withLock { state in
      if state.runs == isNeeded { return false }
      state.runs = isNeeded
      if isNeeded {
        state.timer.schedule(
          deadline: .now() + .milliseconds(100), repeating: .milliseconds(100),
          leeway: .milliseconds(10))
      } else {
        state.timer.schedule(deadline: .distantFuture)
      }
      return isNeeded
    }
  }

  func end() { state.withLock { $0.timer.cancel() } }
}
