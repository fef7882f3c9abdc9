import Campanile
import CampanileFoundation
import Dispatch
import Foundation
@_exported import TestSupport
import Testing

extension Notification.Name {
  static let tick = Notification.Name("Tick")
  static let tock = Notification.Name("Tock")
}

/// What notifications are about.
final class Bell: Sendable {}

/// An object with a lifetime, as an object of notifications or an owner.
final class Tower: LifetimeOwner {
  let lifetime = Lifetime()
  let heard = Recorder<Int>()
}

extension PostedNotification {
  var number: Int { self["number"] ?? -1 }
}

/// A typed notification that is a message too.
struct Rung: TypedNotification, MessageCenter.Message, Equatable {
  typealias Subject = Bell
  static let notificationName = Notification.Name("Rung")
  var number: Int

  init(number: Int) { self.number = number }
  init(from notification: Notification) throws {
    number = try notification.value(forKey: "number")
  }
  var userInfo: [AnyHashable: any Sendable] { ["number": number] }
}

/// A thread that runs its run loop until it is told to end.
final class Worker: Sendable {
  private let slot = Slot<Delivery>()
  private let thread = NamedThread()
  private let hasStopped = Locked<Bool>.Shared(false)
  private let ended = DispatchSemaphore(value: 0)

  /// - Parameter setUp: Runs on the thread before anything else.
  init(_ setUp: @escaping @Sendable () -> Void = {}) {
    let ready = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [slot, thread, hasStopped, ended] in
      setUp()
      slot.set(.thread(.current))
      thread.set(.current)
      ThreadMark.current.onEnd { ended.signal() }
      ready.signal()
      while !hasStopped.value.withLock({ $0 }) {
        _ = RunLoop.current.run(mode: .default, before: .distantFuture)
      }
    }
    ready.wait()
  }

  /// The thread's delivery, as the thread itself named it.
  var delivery: Delivery { slot.value! }

  /// The thread, for naming it elsewhere.
  func withThread<Result>(_ body: (Thread) -> Result) -> Result {
    thread.with(body)
  }

  /// Runs `body` on the thread and waits for it.
  func run(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    delivery.perform {
      body()
      done.signal()
    }
    done.waitPatiently()
  }

  /// Lets the thread go on to its end, once it comes back to its run loop.
  ///
  /// - Parameter last: Runs on the thread after the run loop has been stopped.
  func stop(_ last: @escaping @Sendable () -> Void = {}) {
    delivery.perform { [hasStopped] in
      hasStopped.value.withLock { $0 = true }
      stopCurrentRunLoop()
      last()
    }
  }

  /// Waits until the thread has ended.
  func waitForEnd() { ended.waitPatiently() }

  /// Ends the thread, and waits until it has ended.
  func end() {
    stop()
    waitForEnd()
  }
}

/// A thread that is named elsewhere while it lives.
///
/// Its block keeps this, and it keeps its block.
private final class NamedThread: Sendable {
  private struct Reference { weak var thread: Thread? }
  // SAFETY: a thread is named to Foundation, and nothing else is done with it.
  private let reference = UncheckedLock(Reference())

  func set(_ thread: Thread) { reference.withLock { $0.thread = thread } }
  func with<Result>(_ body: (Thread) -> Result) -> Result {
    reference.withLock { body($0.thread!) }
  }
}

/// Runs the thread's run loop until `stopCurrentRunLoop()` is called, or as long as a test waits.
func runCurrentRunLoop(_ mode: RunLoop.Mode = .default) {
  let limit = Date(timeIntervalSinceNow: TimeInterval(patience.components.seconds))
  _ = RunLoop.current.run(mode: mode, before: limit)
}

/// Ends the innermost run of the thread's run loop after what it is doing.
func stopCurrentRunLoop() {
  #if canImport(Darwin)
    CFRunLoopStop(CFRunLoopGetCurrent())
  #else
    RunLoop.current._stop()
  #endif
}

/// Expects the numbers that each of so many threads has posted, from 0, to be in order and complete.
///
/// A thread has added its own number, a thousandfold.
func expectOrder(
  of values: [Int], from width: Int, each count: Int,
  at location: SourceLocation = #_sourceLocation
) {
  #expect(values.count == width * count, sourceLocation: location)
  for thread in 0..<width {
    let own = values.filter { $0 / 1_000 == thread }
    #expect(own == (0..<count).map { thread * 1_000 + $0 }, sourceLocation: location)
  }
}

/// What a sequence hands out until it ends, or so many values; a test goes on if neither comes, and has
/// failed.
func contents<Element>(
  of sequence: ValueSequence<Element>, upTo count: Int = .max,
  at location: SourceLocation = #_sourceLocation
) async -> [Element] {
  let (read, hasEnded) = (Recorder<Element>(), Inbox<Bool>())
  let task = Task {
    for await value in sequence {
      read.record(value)
      if read.count == count { break }
    }
    hasEnded.record(true)
  }
  _ = await hasEnded.values(count: 1, at: location)
  task.cancel()
  return read.values
}

extension Locked {
  /// A lock that is shared by reference.
  final class Shared: Sendable {
    let value: Locked<State>
    init(_ state: sending State) { value = Locked(state) }
  }
}
