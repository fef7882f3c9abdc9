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
    _ type: M.Type, options: ObservationOptions<Messages<M>> = [],
    onRelease: @escaping @Sendable () -> Void,
    _ observer: @escaping @Sendable (M) -> Void = { _ in }
  ) -> ObservationToken {
    let probe = OnRelease(onRelease)
    return observe(type, options: options) { message in
      probe.touch()
      observer(message)
    }
  }
}
