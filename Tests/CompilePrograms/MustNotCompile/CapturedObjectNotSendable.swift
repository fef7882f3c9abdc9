import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

final class Log {
  var titles: [String] = []

  func follow(_ center: MessageCenter) -> ObservationToken {
    // expect-error: capture of 'self' with non-Sendable type 'Log' in a '@Sendable' closure
    center.observe(TrackChanged.self) { self.titles.append($0.title) }
  }
}

// language mode 5: accepted
