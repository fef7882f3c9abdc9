#if Page
  import Campanile

  /// A section of the page, sent as an event of its stream.
  struct PageSection: Sendable {
    let name: String
    let json: String
  }

  /// Computes sections of the page, once for all open pages, and only when one asks.
  ///
  /// No caller waits: it receives the last result. If a computation takes much processor time, as for
  /// a hundred thousand registrations, the feed computes less often, so that it takes a small part of
  /// one core, but every minute at least. It tells the page how often.
  actor PageFeed {
    /// How long a result may be shown after the next one was due.
    private static let freshness = Duration.seconds(2)
    private let name: String
    private let interval: Duration
    private let rest: Int
    private let make: @Sendable () -> [PageSection]
    private let now: @Sendable () -> ContinuousClock.Instant
    /// Reads the processor time of the calling thread, which does not count how long a busy machine
    /// kept the thread waiting.
    private let used: @Sendable () -> Duration
    private var made: [PageSection] = []
    private var isMaking = false
    /// Whether the last result was too old to be shown.
    private var isNextShown = false
    /// When the sections are due again.
    private(set) var next: ContinuousClock.Instant

    init(
      _ name: String, interval: Duration, rest: Int,
      now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
      used: @escaping @Sendable () -> Duration = { .nanoseconds(Platform.threadNanoseconds) },
      _ make: @escaping @Sendable () -> [PageSection]
    ) {
      (self.name, self.interval, self.rest) = (name, interval, rest)
      (self.now, self.used, self.make) = (now, used, make)
      next = now()
    }

    func sections() -> [PageSection] {
      let start = now()
      // Somebody asks in time.
      if start < next { isNextShown = false }
      if !isMaking, start >= next {
        isMaking = true
        // No page has asked for a while, so an old result would look current. The next one is shown at any
        // age. Otherwise a page on a slow machine would show nothing.
        isNextShown = start > next.advanced(by: Self.freshness) && !isNextShown
        if isNextShown { made = [] }
        Task.detached(priority: .utility) { [make, used] in
          let start = used()
          let sections = make()
          await self.take(sections, for: used() - start)
        }
      }
      return made
    }

    private func take(_ sections: [PageSection], for cost: Duration) {
      isMaking = false
      let pause = min(cost * rest, .seconds(60))
      let seconds = Int((pause / .seconds(1)).rounded(.up))
      made = sections + [PageSection("rest-\(name)", seconds)]
      next = now().advanced(by: max(interval, pause))
    }
  }

  /// The sections that one browser has received.
  struct PageNews {
    private var sent: [String: String] = [:]

    /// Returns the events for the sections that have changed since the last call.
    mutating func take(_ sections: [PageSection]) -> String {
      var news = ""
      for section in sections where sent[section.name] != section.json {
        sent[section.name] = section.json
        news += "event: \(section.name)\ndata: \(section.json)\n\n"
      }
      return news
    }
  }
#endif
