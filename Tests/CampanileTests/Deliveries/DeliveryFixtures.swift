import Dispatch
import Synchronization

@testable import Campanile

/// A serial queue that can be held, and that knows whether code runs on it.
final class TestQueue: Sendable {
  let queue: DispatchQueue
  private let key = DispatchSpecificKey<Bool>()

  init(_ label: String = "test", attributes: DispatchQueue.Attributes = []) {
    queue = DispatchQueue(label: label, attributes: attributes)
    queue.setSpecific(key: key, value: true)
  }

  var delivery: Delivery { .queue(queue) }
  var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

  /// Nothing runs on the queue until `letGo()`.
  func hold() { queue.suspend() }
  func letGo() { queue.resume() }

  /// Waits until what is on the queue has run, up to some thousand deliveries.
  ///
  /// A job that has delivered a thousand goes to the end of the queue for the rest.
  func flush() {
    for _ in 0..<8 { queue.sync {} }
  }

  func run<Result>(_ body: () throws -> Result) rethrows -> Result { try queue.sync(execute: body) }
}

/// A target whose jobs run when a test says so.
final class ManualTarget: DeliveryTarget {
  private struct State {
    var jobs: [DeliveryJob] = []
    var enqueuedCount = 0
    var hasEnded = false
  }

  @TaskLocal private static var current: ManualTarget?

  let mailbox = Mailbox()
  private let state = Locked(State())

  var isCurrent: Bool { Self.current === self }
  var enqueuedCount: Int { state.withLock { $0.enqueuedCount } }

  func enqueue(_ job: DeliveryJob) {
    state.withLock { state in
      state.enqueuedCount += 1
      if !state.hasEnded { state.jobs.append(job) }
    }
  }

  /// Runs `body` as code that is on the target.
  func run(_ body: () -> Void) {
    Self.$current.withValue(self) { body() }
  }

  func runJobs() {
    run {
      while let job = takeJob() { job.run() }
    }
  }

  func takeJob() -> DeliveryJob? {
    state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
  }

  /// Lets go of the jobs that wait, and of those that come.
  func end() {
    let jobs = state.withLock { state in
      state.hasEnded = true
      defer { state.jobs = [] }
      return state.jobs
    }
    withExtendedLifetime(jobs) {}
  }
}

/// Holds a task until a test lets it go on.
final class AsyncGate: Sendable {
  private struct State {
    var isOpen = false
    var reachedCount = 0
    var held: [CheckedContinuation<Void, Never>] = []
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Locked(State())

  /// Says that the task is here, and waits to be let go on; cancellation does not end the wait.
  func pass() async {
    await withCheckedContinuation { continuation in
      let (isOpen, watchers) = state.withLock { state in
        state.reachedCount += 1
        if !state.isOpen { state.held.append(continuation) }
        let reached = state.watchers.filter { $0.count <= state.reachedCount }
        state.watchers.removeAll { $0.count <= state.reachedCount }
        return (state.isOpen, reached)
      }
      for watcher in watchers { watcher.continuation.resume() }
      if isOpen { continuation.resume() }
    }
  }

  /// Waits until `count` tasks have come to the gate.
  func waitUntilReached(by count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        if state.reachedCount < count { state.watchers.append((count, continuation)) }
        return state.reachedCount >= count
      }
      if isReached { continuation.resume() }
    }
  }

  func open() {
    let held = state.withLock { state in
      state.isOpen = true
      defer { state.held = [] }
      return state.held
    }
    for continuation in held { continuation.resume() }
  }
}

/// Collects values, and lets a task wait for a number of them.
final class Inbox<Value: Sendable>: Sendable {
  private struct State {
    var values: [Value] = []
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Locked(State())

  var values: [Value] { state.withLock { $0.values } }

  func record(_ value: Value) {
    let watchers = state.withLock { state in
      state.values.append(value)
      let reached = state.watchers.filter { $0.count <= state.values.count }
      state.watchers.removeAll { $0.count <= state.values.count }
      return reached
    }
    for watcher in watchers { watcher.continuation.resume() }
  }

  /// Waits until there are `count` values, and returns all there are.
  func values(count: Int) async -> [Value] {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        if state.values.count < count { state.watchers.append((count, continuation)) }
        return state.values.count >= count
      }
      if isReached { continuation.resume() }
    }
    return values
  }
}

/// Whether calls of one observer overlap.
final class OverlapDetector: Sendable {
  private let inside = Atomic<Int>(0)
  private let seen = Atomic<Bool>(false)

  var hasOverlapped: Bool { seen.load(ordering: .sequentiallyConsistent) }

  func run(_ body: () -> Void) {
    if inside.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue > 1 {
      seen.store(true, ordering: .sequentiallyConsistent)
    }
    body()
    inside.wrappingSubtract(1, ordering: .sequentiallyConsistent)
  }
}

/// An actor that keeps what its observers tell it.
actor Statistics {
  private(set) var numbers: [Int] = []
  func append(_ number: Int) { numbers.append(number) }
}

/// An owner that keeps what it hears.
final class Screen: Sendable {
  let heard = Recorder<Int>()
}

/// An owner whose end is noticed at once.
final class Room: LifetimeOwner {
  let lifetime = Lifetime()
  let heard = Recorder<Int>()
}

/// Keeps one thing that comes after the closure that needs it, a token mostly.
final class Slot<Value: Sendable>: Sendable {
  private let state: Locked<Value?> = Locked(nil)

  var value: Value? { state.withLock { $0 } }

  func set(_ value: Value?) {
    let old = state.withLock { state in
      defer { state = value }
      return state
    }
    withExtendedLifetime(old) {}
  }
}

/// Runs an action when it is released.
final class OnRelease: Sendable {
  private let action: @Sendable () -> Void
  init(_ action: @escaping @Sendable () -> Void) { self.action = action }
  deinit { action() }
  func touch() {}
}

extension MessageCenter {
  /// Observes with a closure whose release runs `onRelease`; nothing else holds what that hangs on.
  func observe<M: Message>(
    _ type: M.Type, _ options: ObservationOptions = [],
    onRelease: @escaping @Sendable () -> Void,
    _ observer: @escaping @Sendable (M) -> Void = { _ in }
  ) -> ObservationToken {
    let probe = OnRelease(onRelease)
    return observe(type, options) { message in
      probe.touch()
      observer(message)
    }
  }
}
