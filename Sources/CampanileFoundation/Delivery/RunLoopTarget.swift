import Campanile
import Foundation

/// A run loop, in some modes, as a delivery target.
///
/// Jobs are stored in an array. Making the timer due wakes the run loop, and its callback runs the
/// jobs. So wake-ups may coalesce. There is one target for each run loop and set of modes. It lives
/// until the thread ends.
final class RunLoopTarget: DeliveryTarget {
  private struct State {
    var jobs: [DeliveryJob] = []
    /// Whether the timer has been made due, or its callback is running.
    var isAwake = false
    /// `nil` before the timer is made, and once the thread has ended.
    var timer: Timer?
    /// The thread, once known.
    var mark: ThreadMark?
    var hasEnded = false
    /// The number of times that the timer has been made due.
    var wakeUpCount = 0

    mutating func wakeUp() {
      isAwake = true
      wakeUpCount += 1
      // Foundation's lock is taken inside ours, and runs no foreign code. A date earlier than the
      // previous one would be ignored while the timer's callback runs.
      timer?.fireDate = Date()
    }
  }

  /// Longer than programs run.
  ///
  /// `wakeUp()` makes the timer due.
  private static let idleInterval: TimeInterval = 1e9

  let mailbox = Mailbox()
  let deliveryName: String
  /// Whether the run loop is the main one, whose thread is known without having met it.
  private let isMain: Bool
  // SAFETY: threads only keep, compare and release the run loop and the timer in it.
  private let state = UncheckedLock(State())

  fileprivate init(modes: [RunLoop.Mode], isMain: Bool) {
    self.isMain = isMain
    deliveryName = ".runLoop(\(modes.map(\.rawValue).joined(separator: ", ")))"
  }

  var isCurrent: Bool {
    if isMain { return Thread.isMainThread }
    return state.withLock { $0.hasEnded ? nil : $0.mark }?.isCurrent == true
  }

  /// The number of times that the run loop has been woken for this target.
  var wakeUpCount: Int { state.withLock { $0.wakeUpCount } }

  /// Adds the timer to the run loop.
  fileprivate func attach(to runLoop: RunLoop, modes: [RunLoop.Mode]) {
    let timer = Timer(
      fire: .distantFuture, interval: Self.idleInterval, repeats: true
    ) { [weak self] _ in self?.drain() }
    for mode in modes { runLoop.add(timer, forMode: mode) }
    state.withLock { $0.timer = timer }
  }

  /// Records that the calling thread is the run loop's thread.
  fileprivate func meet(_ mark: ThreadMark) {
    let isNew = state.withLock { state in
      defer { state.mark = mark }
      return state.mark == nil
    }
    if isNew { mark.onEnd { [weak self] in self?.end() } }
  }

  /// Discards the waiting jobs.
  ///
  /// Called when the thread ends.
  private func end() {
    let jobs = state.withLock { state in
      state.hasEnded = true
      // The run loop releases the timer when the thread ends.
      state.timer = nil
      defer { state.jobs = [] }
      return state.jobs
    }
    withExtendedLifetime(jobs) {}
  }

  func enqueue(_ job: DeliveryJob) {
    state.withLock { state in
      // A job that isn't appended is released when this function returns, outside the lock.
      if state.hasEnded { return }
      state.jobs.append(job)
      if !state.isAwake { state.wakeUp() }
    }
  }

  /// Runs the waiting jobs.
  ///
  /// Jobs that are added meanwhile run in the next turn of the run loop.
  private func drain() {
    meet(.current)
    let jobs = state.withLock { state in
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in jobs { job.run() }
    state.withLock { state in
      state.isAwake = false
      if !state.jobs.isEmpty { state.wakeUp() }
    }
  }
}

/// Finding the target of a run loop or a thread.
extension RunLoopTarget {
  private struct Key: Hashable {
    let runLoop: ObjectIdentifier
    let modes: Set<RunLoop.Mode>
  }

  private struct KnownRunLoop {
    weak var runLoop: RunLoop?
    let target: RunLoopTarget
  }

  private struct KnownThread {
    weak var thread: Thread?
    let target: RunLoopTarget
  }

  private struct Table {
    var runLoops: [Key: KnownRunLoop] = [:]
    var threads: [ObjectIdentifier: KnownThread] = [:]
    var purgeThreshold = 64
  }

  // SAFETY: threads only keep, compare and release the threads and run loops in it.
  private static let table = UncheckedLock(Table())

  static func of(_ runLoop: RunLoop, modes: [RunLoop.Mode]) -> RunLoopTarget {
    require(!modes.isEmpty, "A delivery on a run loop was given no mode to run in")
    let isCurrent = runLoop === RunLoop.current
    let (target, dead) = table.withLock { table -> (RunLoopTarget, [AnyObject]) in
      let key = Key(runLoop: ObjectIdentifier(runLoop), modes: Set(modes))
      // Another run loop may have had this address. A target whose thread has ended knows that.
      if let known = table.runLoops[key], known.runLoop === runLoop { return (known.target, []) }
      let dead = purge(&table)
      let new = RunLoopTarget(modes: modes, isMain: runLoop === RunLoop.main)
      // Foundation's lock is taken inside ours, and runs no foreign code.
      new.attach(to: runLoop, modes: modes)
      // Returned too, so that the replaced target is released outside the lock.
      let old = table.runLoops.updateValue(KnownRunLoop(runLoop: runLoop, target: new), forKey: key)
      return (new, dead + [old?.target].compactMap { $0 })
    }
    if isCurrent { target.meet(.current) }
    withExtendedLifetime(dead) {}
    return target
  }

  static func of(_ thread: Thread) -> RunLoopTarget {
    if thread === Thread.current {
      let target = of(.current, modes: [.common])
      let old = table.withLock {
        $0.threads.updateValue(
          KnownThread(thread: thread, target: target), forKey: ObjectIdentifier(thread))
      }
      withExtendedLifetime(old) {}
      return target
    }
    if thread.isMainThread { return of(.main, modes: [.common]) }
    let known = table.withLock { $0.threads[ObjectIdentifier(thread)] }
    guard let known, known.thread === thread else {
      misuse(
        "A delivery named another thread, which has not called Delivery.thread(.current) before")
    }
    return known.target
  }

  /// Removes the run loops and threads that have been released, once in a while.
  ///
  /// A run loop or thread that is still kept after its thread has ended stays in the table, so that
  /// it is recognized as ended.
  ///
  /// - Returns: The removed targets, and the checked objects. The caller releases them outside the
  ///   lock, since these may be the last references.
  private static func purge(_ table: inout Table) -> [AnyObject] {
    guard table.runLoops.count + table.threads.count >= table.purgeThreshold else { return [] }
    var seen: [AnyObject] = []
    table.runLoops = table.runLoops.filter { known in
      seen.append(known.value.target)
      guard let runLoop = known.value.runLoop else { return false }
      seen.append(runLoop)
      return true
    }
    table.threads = table.threads.filter { known in
      seen.append(known.value.target)
      guard let thread = known.value.thread else { return false }
      seen.append(thread)
      return true
    }
    table.purgeThreshold = max(64, (table.runLoops.count + table.threads.count) * 2)
    return seen
  }
}
