import Campanile
import FuzzSupport

/// A target whose jobs run when the input says so.
final class ManualTarget: DeliveryTarget, @unchecked Sendable {
  // SAFETY: a fuzzer runs on one thread.
  let mailbox = Mailbox()
  var jobs: [DeliveryJob] = []
  var hasEnded = false
  var isCurrent = false

  func enqueue(_ job: DeliveryJob) {
    if !hasEnded { jobs.append(job) }
  }

  /// Lets go of the jobs that wait, and of those that come.
  func end() {
    hasEnded = true
    let jobs = jobs
    self.jobs = []
    withExtendedLifetime(jobs) {}
  }

  /// Runs `body` as code that is on the target.
  func run(_ body: () -> Void) {
    let before = isCurrent
    isCurrent = true
    body()
    isCurrent = before
  }
}

/// One input: messages to observers on three targets, with every policy for what waits, beside a
/// list of what each is to hear.
///
/// Everything happens on one thread, inside each other.
final class MailboxRun: @unchecked Sendable {
  struct Observer {
    let target: Int
    let policy: Buffering
    /// What waits for the observer, and whether it may be passed over.
    var waiting: [(number: Int, mayBeSkipped: Bool)] = []
    var droppedCount = 0
    var pauses = 0
    var hasEnded = false
    var token: ObservationToken?
  }

  // SAFETY: a fuzzer runs on one thread.
  private var choices: Choices
  private let source = Broadcaster<Int>()
  let cage = Canary.Cage()
  private var targets = (0..<3).map { _ in ManualTarget() }
  private var observers: [Observer] = []
  private var number = 0
  private var depth = 0

  init(_ choices: Choices) { self.choices = choices }

  func run() {
    while !choices.isAtEnd { step() }
    for target in targets { runJobs(of: target) }
    for index in observers.indices { checkEnd(index) }
    for index in observers.indices { observers[index].token = nil }
    targets = []
  }

  private func step() {
    switch choices.pick(10) {
    case 0, 1: send()
    // Now and then more than a job delivers.
    case 2: for _ in 0..<(depth == 0 && choices.pick(16) == 1 ? 1_100 : 1) { send() }
    case 3: observe()
    case 4, 5: runOneJob()
    case 6: sendOnATarget()
    case 7: end()
    case 8: if choices.flip() { pause() } else { resume() }
    default: if choices.pick(8) == 1 { endTarget() }
    }
  }

  // MARK: Sending

  private func send() {
    number += 1
    for index in observers.indices { expect(number, by: index) }
    // On the target, its observers may be called by the post itself.
    for target in targets where target.isCurrent { skipWhatIsPaused(on: target) }
    trace("send \(number)")
    source.send(number)
    trace("sent")
  }

  private func sendOnATarget() {
    let target = targets[choices.pick(targets.count)]
    trace("on a target")
    // No code runs on a target that has ended.
    if depth < 4, !target.hasEnded { target.run { send() } }
  }

  /// Puts a message into the row of what an observer is to hear.
  private func expect(_ number: Int, by index: Int) {
    let observer = observers[index]
    if observer.hasEnded || targets[observer.target].hasEnded { return }
    switch observer.policy {
    case .unbounded:
      // Whether it is paused is looked at when its turn comes.
      observers[index].waiting.append((number, false))
    case .newest(let capacity):
      observers[index].waiting.append((number, false))
      if observer.waiting.count == capacity {
        observers[index].waiting.removeFirst()
        observers[index].droppedCount += 1
      }
    case .oldest(let capacity):
      if observer.waiting.count == capacity {
        observers[index].droppedCount += 1
      } else {
        observers[index].waiting.append((number, false))
      }
    }
  }

  private func hear(_ number: Int, by index: Int) {
    trace("observer \(index) hears \(number)")
    let observer = observers[index]
    let target = targets[observer.target]
    require(!observer.hasEnded, "Observer \(index) was called after its end")
    require(observer.pauses == 0, "Observer \(index) was called during a pause")
    require(target.isCurrent, "Observer \(index) was called elsewhere")
    while let next = observers[index].waiting.first, next.number != number {
      require(next.mayBeSkipped, "Observer \(index) heard \(number) before \(next.number)")
      observers[index].waiting.removeFirst()
    }
    require(
      !observers[index].waiting.isEmpty, "Observer \(index) heard \(number) twice, or too early")
    observers[index].waiting.removeFirst()
    if depth < 4 {
      depth += 1
      for _ in 0..<choices.pick(3) { step() }
      depth -= 1
    }
  }

  // MARK: Jobs

  private func runOneJob() {
    let target = targets[choices.pick(targets.count)]
    // A target runs one job at a time.
    if target.isCurrent || target.jobs.isEmpty { return }
    run(target.jobs.removeFirst(), on: target)
  }

  private func run(_ job: DeliveryJob, on target: ManualTarget) {
    skipWhatIsPaused(on: target)
    trace("a job")
    target.run { job.run() }
    trace("the end of the job")
  }

  /// What waits for an observer that is paused while a job runs may be passed over.
  private func skipWhatIsPaused(on target: ManualTarget) {
    for index in observers.indices
    where targets[observers[index].target] === target && observers[index].pauses > 0 {
      for place in observers[index].waiting.indices {
        observers[index].waiting[place].mayBeSkipped = true
      }
    }
  }

  private func runJobs(of target: ManualTarget) {
    while !target.jobs.isEmpty { run(target.jobs.removeFirst(), on: target) }
  }

  /// Once every job has run, nothing waits and everything dropped is counted.
  private func checkEnd(_ index: Int) {
    let observer = observers[index]
    if observer.hasEnded || targets[observer.target].hasEnded { return }
    let lost = observer.waiting.count { !$0.mayBeSkipped }
    require(lost == 0, "Observer \(index) never heard \(lost) messages")
    let dropped = observer.token?.registration.droppedCount ?? 0
    require(
      dropped == observer.droppedCount,
      "Observer \(index) dropped \(observer.droppedCount), and \(dropped) were counted")
  }

  // MARK: Observers and targets

  private func observe() {
    let index = observers.count
    guard index < 64 else { return }
    let capacity = 1 + choices.pick(4)
    let policy: Buffering =
      switch choices.pick(4) {
      case 0, 1: .unbounded
      case 2: .newest(capacity)
      default: .oldest(capacity)
      }
    let target = choices.pick(targets.count)
    if targets[target].hasEnded { return }
    let isOrdered = choices.flip()
    trace("observer \(index) on \(target), \(policy), \(isOrdered ? "ordered" : "")")
    observers.append(Observer(target: target, policy: policy))
    let delivery = Delivery.target(targets[target], buffering: policy, ordered: isOrdered)
    let canary = Canary(cage)
    observers[index].token = source.observe(on: delivery) { [unowned self] number in
      canary.check()
      hear(number, by: index)
    }
  }

  private func end() {
    guard !observers.isEmpty else { return }
    let index = choices.pick(observers.count)
    trace("end \(index)")
    observers[index].hasEnded = true
    if choices.flip() {
      observers[index].token?.cancel()
    } else {
      let token = observers[index].token.take()
      withExtendedLifetime(token) {}
    }
  }

  private func pause() {
    guard !observers.isEmpty else { return }
    let index = choices.pick(observers.count)
    // How full a buffer is from which a pause takes is known only to who knows which job that was.
    if observers[index].policy != .unbounded { return }
    trace("pause \(index)")
    observers[index].token?.pause()
    observers[index].pauses += 1
    // It may be paused in the middle of a job.
    if depth > 0 { skipWhatIsPaused(on: targets[observers[index].target]) }
  }

  private func resume() {
    guard !observers.isEmpty else { return }
    let index = choices.pick(observers.count)
    trace("resume \(index)")
    observers[index].token?.resume()
    observers[index].pauses = max(0, observers[index].pauses - 1)
  }

  private func endTarget() {
    let target = targets[choices.pick(targets.count)]
    if target.isCurrent { return }
    trace("a target ends")
    target.end()
  }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMailbox(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  var run: MailboxRun? = MailboxRun(unsafe Choices(start, count))
  run?.run()
  let cage = run?.cage
  run = nil
  require(cage?.count == 0, "\(cage?.count ?? 0) closures were never released")
  return 0
}
