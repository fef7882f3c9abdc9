// A place of one's own to deliver to, and a delivery that is stored and injected.
import Campanile
import Dispatch
import Synchronization

final class Loop: DeliveryTarget {
  let mailbox = Mailbox()
  private let jobs = Mutex<[DeliveryJob]>([])

  func enqueue(_ job: DeliveryJob) { jobs.withLock { $0.append(job) } }

  func turn() {
    let due = jobs.withLock { jobs in
      defer { jobs = [] }
      return jobs
    }
    for job in due { job.run() }
  }
}

struct TrackChanged: MessageCenter.Message { var title: String }

final class Log: Sendable {
  private let titles = Mutex<[String]>([])

  init(_ center: MessageCenter, delivery: Delivery = .immediate) {
    center.observe(TrackChanged.self, owner: self, on: delivery) { log, message in
      log.titles.withLock { $0.append(message.title) }
    }
  }
}

func make(_ center: MessageCenter, _ loop: Loop) -> [Log] {
  [
    Log(center), Log(center, delivery: .target(loop)),
    Log(center, delivery: .queue(.main, ordered: true)),
    Log(center, delivery: .queue(.global())),
  ]
}
