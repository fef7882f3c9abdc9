// The examples of the guide of this name.
import Campanile
import Synchronization

struct TrackChanged: MessageCenter.Message { var title: String }

nonisolated final class TitleLog: Sendable {
  private let stored = Mutex<[String]>([])
  var titles: [String] { stored.withLock { $0 } }

  init(_ center: MessageCenter, delivery: Delivery) {
    center.observe(TrackChanged.self, owner: self, on: delivery) { log, message in
      log.stored.withLock { $0.append(message.title) }
    }
  }
}

func testTitles() async throws {
  let center = MessageCenter(label: "test")
  try await MessageCenter.withDefault(center) {
    let log = TitleLog(MessageCenter.default, delivery: .mainQueue)
    try await MessageCenter.default.postAndWait(TrackChanged(title: "Aria"))
    precondition(log.titles == ["Aria"])
  }
}

func post(_ center: MessageCenter) async throws {
  try await center.postAndWait(TrackChanged(title: "Aria"))
}

final class ManualTarget: DeliveryTarget {
  let mailbox = Mailbox()
  private let jobs = Mutex<[DeliveryJob]>([])

  func enqueue(_ job: DeliveryJob) { jobs.withLock { $0.append(job) } }

  /// Delivers what is waiting, and what comes meanwhile.
  func run() {
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job.run() }
  }
}

func testDeadOwner(_ center: MessageCenter) {
  let target = ManualTarget()
  var log: TitleLog? = TitleLog(center, delivery: .target(target))
  center.post(TrackChanged(title: "Aria"))
  weak let ended = log
  log = nil
  target.run()
  precondition(ended == nil)
}

func testNothingLeft(_ center: MessageCenter) {
  precondition(center.observerCount == 0, "\(center)")
}

func makeStrict() -> MessageCenter {
  let strict = MessageCenter(label: "test") { failure in
    preconditionFailure("\(failure)")
  }
  return strict
}
