import Campanile
import Synchronization

/// The calls that have begun and not ended, and the tasks that wait for their ends.
final class OpenCalls: Sendable {
  fileprivate struct State {
    var count = 0
    var isClosed = false
    var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var last: UInt64 = 0
  }

  /// A call that a task makes.
  private final class Call: Sendable {
    let hasEnded = Atomic<Bool>(false)
  }

  @TaskLocal private static var current: Call?

  private let state = Locked(State())

  /// Whether the current task is part of a call that is made with ``run(_:)``.
  static var isInside: Bool {
    current.map { !$0.hasEnded.load(ordering: .acquiring) } ?? false
  }

  func begin() { state.withLock { $0.count += 1 } }

  func end() {
    let waiting = state.withLock { state in
      state.count -= 1
      return state.count == 0 ? state.takeWaiting() : []
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Makes a call that has begun, and ends it.
  func run(_ body: () async -> Void) async {
    let call = Call()
    await Self.$current.withValue(call) { await body() }
    call.hasEnded.store(true, ordering: .releasing)
    end()
  }

  /// Waits until no call is open, until `close()`, or until the task is canceled.
  func wait() async {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.count == 0 || state.isClosed || Task.isCancelled { return true }
          state.waiting[number] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
  }

  /// Ends all waits, and refuses later ones.
  func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      return state.takeWaiting()
    }
    for continuation in waiting { continuation.resume() }
  }
}

extension OpenCalls.State {
  fileprivate mutating func takeWaiting() -> [CheckedContinuation<Void, Never>] {
    defer { waiting = [:] }
    return Array(waiting.values)
  }
}
