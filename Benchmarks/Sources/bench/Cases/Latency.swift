import Campanile
import Dispatch
import Synchronization

/// The time from a post until its observer runs elsewhere.
enum Latency {
  static var cases: [Case] {
    let rivals: [QueuedPosting] = [
      .dispatchAsync, .operationQueue, .asyncStream, .taskPerMessage,
    ]
    let wakes = Wakes()
    return [
      Case(
        name: "latency to an idle queue", contenders: ([.queue] + rivals).map(idle),
        kind: .percentiles([50, 99, 99.9])),
      Case(
        name: "latency to an idle actor",
        contenders: ([.actor] + rivals.dropFirst(2)).map(idle),
        kind: .percentiles([50, 99, 99.9])),
      Case(
        name: "latency in bursts of 100",
        contenders: ([counted(by: wakes)] + rivals).map { burst($0, wakes) },
        kind: .percentiles([50, 99, 99.9]), remark: wakes.remark),
    ]
  }

  private static func idle(_ posting: QueuedPosting) -> Contender {
    Contender(posting.name) {
      let arrivals = Arrivals()
      let latencies = Latencies()
      let post = posting.make { message in
        latencies.hear(message)
        arrivals.arrive()
      }
      return .samples { count in
        for _ in 0..<count {
          // Long enough for the threads of the target to fall asleep.
          let end = now() + 150_000
          while now() < end {}
          arrivals.expect(1)
          post(Message8(Int(now())))
          arrivals.wait()
        }
        return latencies.take()
      }
    }
  }

  private static func burst(_ posting: QueuedPosting, _ wakes: Wakes) -> Contender {
    Contender(posting.name) {
      let arrivals = Arrivals()
      let latencies = Latencies()
      let post = posting.make { message in
        latencies.hear(message)
        arrivals.arrive()
      }
      let isOurs = posting.name == Contender.ours
      return .samples { count in
        for _ in 0..<max(1, count / 10) {
          arrivals.expect(100)
          for _ in 0..<100 { post(Message8(Int(now()))) }
          arrivals.wait()
          if isOurs { wakes.bursts.add(1, ordering: .relaxed) }
        }
        return latencies.take()
      }
    }
  }

  /// How often a queue was given something to do.
  private final class Wakes: Sendable {
    let bursts = Atomic(0)
    let jobs = Atomic(0)

    @Sendable func remark(_: Double) -> String {
      let bursts = bursts.load(ordering: .relaxed)
      let jobs = Double(jobs.load(ordering: .relaxed))
      return "wake-ups per burst: \(Table.number(jobs / Double(max(1, bursts))))"
    }
  }

  /// A dispatch queue that counts.
  private final class CountingQueue: DeliveryTarget {
    let mailbox = Mailbox()
    private let queue = DispatchQueue(label: "observers")
    private let wakes: Wakes

    init(_ wakes: Wakes) { self.wakes = wakes }

    func enqueue(_ job: DeliveryJob) {
      wakes.jobs.add(1, ordering: .relaxed)
      queue.async { job.run() }
    }
  }

  private static func counted(by wakes: Wakes) -> QueuedPosting {
    QueuedPosting(name: Contender.ours) { observer in
      let center = MessageCenter()
      let target = CountingQueue(wakes)
      let token = center.observe(Message8.self, on: .target(target)) { observer($0) }
      return { message in
        center.post(message)
        withExtendedLifetime(token) {}
      }
    }
  }
}
