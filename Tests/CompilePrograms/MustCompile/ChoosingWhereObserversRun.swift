// The examples of the guide of this name.
import Campanile
import Dispatch
import Synchronization

struct TrackChanged: MessageCenter.Message { var title: String }
struct LevelChanged: MessageCenter.Message { var level: Float }

final class Counter: Sendable {
  private let count = Atomic<Int>(0)

  init(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self) { counter, _ in
      counter.count.wrappingAdd(1, ordering: .relaxed)
    }
  }
}

@MainActor
final class Screen {
  var title = ""

  init(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self, on: .main) { screen, message in
      screen.title = message.title
    }
    center.observe(TrackChanged.self, owner: self, on: .main(ordered: true)) { screen, message in
      screen.title = message.title
    }
  }
}

nonisolated final class Index: Sendable {
  private let titles = Mutex<Set<String>>([])

  init(_ center: MessageCenter, on queue: DispatchQueue) {
    center.observe(TrackChanged.self, owner: self, on: .queue(queue)) { index, message in
      index.add(message.title)
    }
  }

  func add(_ title: String) { titles.withLock { _ = $0.insert(title) } }
}

actor Statistics {
  var peak: Float = 0

  func follow(_ center: MessageCenter) {
    center.observe(LevelChanged.self, on: self) { statistics, message in
      statistics.peak = max(statistics.peak, message.level)
    }
  }
}

@globalActor actor Library {
  static let shared = Library()
  var titles: Set<String> = []
}

@Library func show(_ title: String) { print(title) }

func follow(_ center: MessageCenter) -> ObservationToken {
  let tracks = center.messages(of: TrackChanged.self)
  tracks.observe(on: Library.shared) { library, message in library.titles.insert(message.title) }
  return tracks.observeAsync { @Library message in show(message.title) }
}

actor Covers {
  func load(_ title: String) { print(title) }

  func follow(_ center: MessageCenter) {
    let tracks = center.messages(of: TrackChanged.self)
    tracks.observeAsync(owner: self, buffering: .newest(1)) { covers, message in
      await covers.load(message.title)
    }
  }
}

final class Loop: DeliveryTarget {
  let mailbox = Mailbox()
  private let jobs = Mutex<[DeliveryJob]>([])

  func enqueue(_ job: DeliveryJob) { jobs.withLock { $0.append(job) } }

  /// Called over and over by the loop's thread.
  func turn() {
    let due = jobs.withLock { jobs in
      defer { jobs = [] }
      return jobs
    }
    for job in due { job.run() }
  }
}

nonisolated final class Log: Sendable {
  private let titles = Mutex<[String]>([])

  init(_ center: MessageCenter, delivery: Delivery = .queue(.main)) {
    center.observe(TrackChanged.self, owner: self, on: delivery) { log, message in
      log.append(message.title)
    }
  }

  func append(_ title: String) { titles.withLock { $0.append(title) } }
}

func wait(_ center: MessageCenter) async throws {
  try await center.postAndWait(TrackChanged(title: "Aria"))
}

nonisolated enum Request { @TaskLocal static var id: String? }

func launch() {
  ContextCarrier(Request.$id).install()
}
