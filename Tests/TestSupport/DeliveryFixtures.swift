package import Dispatch
import Synchronization

package import Campanile

/// A serial queue that can be held, and that knows whether code runs on it.
package final class TestQueue: Sendable {
  package let queue: DispatchQueue
  private let key = DispatchSpecificKey<Bool>()

  package init(_ label: String = "test", attributes: DispatchQueue.Attributes = []) {
    queue = DispatchQueue(label: label, attributes: attributes)
    queue.setSpecific(key: key, value: true)
  }

  package var delivery: Delivery { .queue(queue) }
  package var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

  /// Nothing runs on the queue until `letGo()`.
  package func hold() { queue.suspend() }
  package func letGo() { queue.resume() }

  /// Waits until what is on the queue has run, up to some thousand deliveries.
  ///
  /// A job that has delivered a thousand goes to the end of the queue for the rest.
  package func flush() {
    for _ in 0..<8 { queue.sync {} }
  }

  package func run<Result>(_ body: () throws -> Result) rethrows -> Result {
    try queue.sync(execute: body)
  }
}

/// A target whose jobs run when a test says so.
package final class ManualTarget: DeliveryTarget {
  package init() {}

  private struct State {
    var jobs: [DeliveryJob] = []
    var enqueuedCount = 0
    var hasEnded = false
  }

  @TaskLocal private static var current: ManualTarget?

  package let mailbox = Mailbox()
  private let state = Locked(State())

  package var isCurrent: Bool { Self.current === self }
  package var enqueuedCount: Int { state.withLock { $0.enqueuedCount } }

  package func enqueue(_ job: DeliveryJob) {
    state.withLock { state in
      state.enqueuedCount += 1
      if !state.hasEnded { state.jobs.append(job) }
    }
  }

  /// Runs `body` as code that is on the target.
  package func run(_ body: () -> Void) {
    Self.$current.withValue(self) { body() }
  }

  package func runJobs() {
    run {
      while let job = takeJob() { job.run() }
    }
  }

  package func takeJob() -> DeliveryJob? {
    state.withLock { $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }
  }

  /// Lets go of the jobs that wait, and of those that come.
  package func end() {
    let jobs = state.withLock { state in
      state.hasEnded = true
      defer { state.jobs = [] }
      return state.jobs
    }
    withExtendedLifetime(jobs) {}
  }
}

/// Holds a task until a test lets it go on.
package final class AsyncGate: Sendable {
  package init() {}

  private struct State {
    var isOpen = false
    var reachedCount = 0
    var held: [CheckedContinuation<Void, Never>] = []
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Locked(State())

  /// Says that the task is here, and waits to be let go on; cancellation does not end the wait.
  package func pass() async {
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
  package func waitUntilReached(by count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isReached = state.withLock { state in
        if state.reachedCount < count { state.watchers.append((count, continuation)) }
        return state.reachedCount >= count
      }
      if isReached { continuation.resume() }
    }
  }

  package func open() {
    let held = state.withLock { state in
      state.isOpen = true
      defer { state.held = [] }
      return state.held
    }
    for continuation in held { continuation.resume() }
  }
}

/// Collects values, and lets a task wait for a number of them.
package final class Inbox<Value: Sendable>: Sendable {
  package init() {}

  private struct State {
    var values: [Value] = []
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Locked(State())

  package var values: [Value] { state.withLock { $0.values } }

  package func record(_ value: Value) {
    let watchers = state.withLock { state in
      state.values.append(value)
      let reached = state.watchers.filter { $0.count <= state.values.count }
      state.watchers.removeAll { $0.count <= state.values.count }
      return reached
    }
    for watcher in watchers { watcher.continuation.resume() }
  }

  /// Waits until there are `count` values, and returns all there are.
  package func values(count: Int) async -> [Value] {
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
package final class OverlapDetector: Sendable {
  package init() {}

  private let inside = Atomic<Int>(0)
  private let seen = Atomic<Bool>(false)

  package var hasOverlapped: Bool { seen.load(ordering: .sequentiallyConsistent) }

  package func run(_ body: () -> Void) {
    if inside.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue > 1 {
      seen.store(true, ordering: .sequentiallyConsistent)
    }
    body()
    inside.wrappingSubtract(1, ordering: .sequentiallyConsistent)
  }
}

/// An actor that keeps what its observers tell it.
package actor Statistics {
  package init() {}

  package private(set) var numbers: [Int] = []
  package func append(_ number: Int) { numbers.append(number) }
}

/// An owner that keeps what it hears.
package final class Screen: Sendable {
  package init() {}

  package let heard = Recorder<Int>()
}

/// An owner whose end is noticed at once.
package final class Room: LifetimeOwner {
  package init() {}

  package let lifetime = Lifetime()
  package let heard = Recorder<Int>()
}

/// Keeps one thing that comes after the closure that needs it, a token mostly.
package final class Slot<Value: Sendable>: Sendable {
  package init() {}

  private let state: Locked<Value?> = Locked(nil)

  package var value: Value? { state.withLock { $0 } }

  package func set(_ value: Value?) {
    let old = state.withLock { state in
      defer { state = value }
      return state
    }
    withExtendedLifetime(old) {}
  }
}

/// Runs an action when it is released.
package final class OnRelease: Sendable {
  private let action: @Sendable () -> Void
  package init(_ action: @escaping @Sendable () -> Void) { self.action = action }
  deinit { action() }
  package func touch() {}
}

extension MessageCenter {
  /// Observes with a closure whose release runs `onRelease`; nothing else holds what that hangs on.
  package func observe<M: Message>(
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
