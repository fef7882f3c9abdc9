#if Page
  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// A section of the page, sent as an event of its stream.
  struct PageSection: Sendable {
    let name: String
    let json: Data
  }

  /// Computes sections of the page, once for all open pages, and only when one asks.
  ///
  /// No caller waits: it receives the last result. If a computation takes long, as for new call
  /// stacks, the feed computes less often. It rests nine times as long, but ten seconds at most,
  /// because the page shows the last result meanwhile.
  actor PageFeed {
    /// How long a result may be shown after the next one was due.
    private static let freshness = Duration.seconds(2)
    private let interval: Duration
    private let make: @Sendable () -> [PageSection]
    private let now: @Sendable () -> ContinuousClock.Instant
    private var made: [PageSection] = []
    private var isMaking = false
    /// Whether the last result was too old to be shown.
    private var isNextShown = false
    /// When the sections are due again.
    private(set) var next: ContinuousClock.Instant

    init(
      interval: Duration, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
      _ make: @escaping @Sendable () -> [PageSection]
    ) {
      self.interval = interval
      self.now = now
      self.make = make
      next = now()
    }

    func sections() -> [PageSection] {
      let start = now()
      // Somebody asks in time.
      if start < next { isNextShown = false }
      if !isMaking, start >= next {
        isMaking = true
        // Nobody has asked for a while: an old result would look current. The next one is shown at any
        // age. Otherwise a page on a slow machine would show nothing.
        isNextShown = start > next.advanced(by: Self.freshness) && !isNextShown
        if isNextShown { made = [] }
        Task.detached(priority: .utility) { [make] in await self.take(make(), since: start) }
      }
      return made
    }

    private func take(_ sections: [PageSection], since start: ContinuousClock.Instant) {
      made = sections
      isMaking = false
      let end = now()
      let pause = min(start.duration(to: end) * 9, .seconds(10))
      next = end.advanced(by: max(interval, pause))
    }
  }

  /// The sections that one browser has received.
  struct PageNews {
    private var sent: [String: Data] = [:]

    /// Returns the events for the sections that have changed since the last call.
    mutating func take(_ sections: [PageSection]) -> Data {
      var news = Data()
      for section in sections where sent[section.name] != section.json {
        sent[section.name] = section.json
        news += Data("event: \(section.name)\ndata: ".utf8) + section.json + Data("\n\n".utf8)
      }
      return news
    }
  }
#endif
