import CThreads
import Dispatch
import Foundation
import Synchronization

/// A second thread that works beside the measuring one.
///
/// Between jobs it is parked on a semaphore. A job begins on both threads at once: they wait for
/// each other by spinning, since waking a thread takes longer than some batches. It keeps off the
/// core on which the measuring thread called: left to itself, the system often puts a thread that
/// was woken on the core of the one that woke it, and leaves both there for longer than a batch
/// takes.
final class Companion: Sendable {
  /// The one for all cases, which is never in two at a time.
  static let shared = Companion()

  private let job = Mutex<(@Sendable () -> Void)?>(nil)
  private let avoidedCore = Atomic(-1)
  private let wake = DispatchSemaphore(value: 0)
  private let isReady = Atomic(false)
  private let mayBegin = Atomic(false)
  private let isDone = Atomic(false)

  private init() {
    let thread = Thread { [self] in
      while true {
        wake.wait()
        guard let job = job.withLock({ $0.take() }) else { continue }
        threads_avoid_core(Int32(avoidedCore.load(ordering: .relaxed)))
        isReady.store(true, ordering: .releasing)
        mayBegin.waitUntilTrue()
        job()
        isDone.store(true, ordering: .releasing)
      }
    }
    thread.start()
  }

  /// Runs `job` on the other thread and `body` on this one, and returns the nanoseconds until both
  /// have ended.
  func run(_ job: @escaping @Sendable () -> Void, beside body: () -> Void) -> Double {
    begin(job)
    let start = now()
    mayBegin.store(true, ordering: .releasing)
    body()
    isDone.waitUntilTrue()
    return Double(now() - start)
  }

  /// Has the other thread repeat `job` while `body` runs on this one, and returns the nanoseconds
  /// that `body` takes.
  func repeating(_ job: @escaping @Sendable () -> Void, during body: () -> Void) -> Double {
    let hasEnded = Ended()
    begin { while !hasEnded.flag.load(ordering: .relaxed) { job() } }
    mayBegin.store(true, ordering: .releasing)
    let elapsed = time(body)
    hasEnded.flag.store(true, ordering: .relaxed)
    isDone.waitUntilTrue()
    return elapsed
  }

  private final class Ended: Sendable {
    let flag = Atomic(false)
  }

  private func begin(_ job: @escaping @Sendable () -> Void) {
    isReady.store(false, ordering: .relaxed)
    mayBegin.store(false, ordering: .relaxed)
    isDone.store(false, ordering: .relaxed)
    avoidedCore.store(Int(threads_current_core()), ordering: .relaxed)
    self.job.withLock { $0 = job }
    wake.signal()
    isReady.waitUntilTrue()
  }
}

extension Atomic where Value == Bool {
  /// Spins, and after a while lets others have the core, in case they keep the other thread off it.
  fileprivate func waitUntilTrue() {
    for _ in 0..<1_000_000 where load(ordering: .acquiring) { return }
    while !load(ordering: .acquiring) { sched_yield() }
  }
}

/// Threads that have all done a job while all of them lived, and live on until this object ends.
final class Crowd {
  private let mayLeave = DispatchSemaphore(value: 0)
  private let count: Int

  init(_ count: Int, each job: @escaping @Sendable () -> Void) {
    self.count = count
    let haveDone = DispatchSemaphore(value: 0)
    for _ in 0..<count {
      let thread = Thread { [mayLeave] in
        job()
        haveDone.signal()
        mayLeave.wait()
      }
      thread.stackSize = 128 * 1_024
      thread.start()
    }
    for _ in 0..<count { haveDone.wait() }
  }

  deinit {
    for _ in 0..<count { mayLeave.signal() }
  }
}
