import Campanile

/// A number that tasks can wait for.
final class Tally: Sendable {
  /// The result of a wait.
  enum Outcome: Sendable {
    case reached, timedOut, canceled
  }

  /// A wait that has been announced, is in progress, or has ended before it began.
  fileprivate enum Watcher {
    case announced
    case waiting(count: Int, Waiter)
    case givenUp(Outcome)
  }

  /// The continuation of a waiting task.
  fileprivate enum Waiter {
    case limited(CheckedContinuation<Outcome, Never>)
    case unlimited(CheckedContinuation<Void, Never>)

    func resume(returning outcome: Outcome) {
      switch self {
      case .limited(let continuation): continuation.resume(returning: outcome)
      case .unlimited(let continuation): continuation.resume()
      }
    }
  }

  /// Protected by the lock.
  fileprivate struct State {
    var value = 0
    var lastWatcher = 0
    var watchers: [Int: Watcher] = [:]
  }

  private let state = Locked(State())

  var value: Int { state.withLock { $0.value } }

  /// Changes the number, and resumes the tasks that waited for it.
  @discardableResult
  func add(_ difference: Int = 1) -> Int {
    let (value, reached) = state.withLock { state in
      state.value += difference
      return (state.value, state.takeReached())
    }
    for continuation in reached { continuation.resume(returning: .reached) }
    return value
  }

  /// Waits until the number is `count` or more.
  ///
  /// - Parameter limit: How long; `nil` for no limit.
  func wait(for count: Int, _ limit: TimeLimit? = nil) async -> Outcome {
    // If the number is reached already, no timer and no continuation is needed.
    if value >= count { return .reached }
    let watcher = state.withLock { state in
      state.lastWatcher += 1
      state.watchers[state.lastWatcher] = .announced
      return state.lastWatcher
    }
    let timer = limit.map { limit in
      Task { if await limit.pass() { self.giveUp(watcher, .timedOut) } }
    }
    defer { timer?.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let outcome = state.withLock { $0.begin(watcher, count, .limited(continuation)) }
        if let outcome { continuation.resume(returning: outcome) }
      }
    } onCancel: {
      giveUp(watcher, .canceled)
    }
  }

  /// Waits until the number is `count` or more, without a limit.
  ///
  /// Cancellation does not end the wait.
  func waitRegardless(for count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        state.lastWatcher += 1
        return state.begin(state.lastWatcher, count, .unlimited(continuation)) != nil
      }
      if isReached { continuation.resume() }
    }
  }

  private func giveUp(_ watcher: Int, _ outcome: Outcome) {
    state.withLock { $0.giveUp(watcher, outcome) }?.resume(returning: outcome)
  }
}

extension Tally.State {
  fileprivate mutating func takeReached() -> [Tally.Waiter] {
    if watchers.isEmpty { return [] }
    var reached: [(Int, Tally.Waiter)] = []
    for case (let id, .waiting(let count, let waiter)) in watchers where count <= value {
      reached.append((id, waiter))
      watchers[id] = nil
    }
    // In the order in which the waits began.
    return reached.sorted { $0.0 < $1.0 }.map(\.1)
  }

  /// - Returns: The result, if the wait has ended already.
  fileprivate mutating func begin(
    _ watcher: Int, _ count: Int, _ waiter: Tally.Waiter
  ) -> Tally.Outcome? {
    let known = watchers.removeValue(forKey: watcher)
    if count <= value { return .reached }
    if case .givenUp(let outcome) = known { return outcome }
    watchers[watcher] = .waiting(count: count, waiter)
    return nil
  }

  /// - Returns: The continuation to resume, if the task waits.
  fileprivate mutating func giveUp(
    _ watcher: Int, _ outcome: Tally.Outcome
  ) -> Tally.Waiter? {
    switch watchers[watcher] {
    case .announced:
      watchers[watcher] = .givenUp(outcome)
      return nil
    case .waiting(_, let waiter):
      watchers[watcher] = nil
      return waiter
    case .givenUp, .none:
      return nil
    }
  }
}
