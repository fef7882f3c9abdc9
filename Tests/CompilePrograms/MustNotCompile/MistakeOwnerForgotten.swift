// expect-error: 12:60: contextual closure type '@MainActor @Sendable (TrackChanged) throws -> Void' expects 1 argument, but 2 were used in closure body
// An observer without an owner takes one.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor
final class Screen {
  var token: ObservationToken?

  func follow(_ center: MessageCenter) {
    token = center.observe(TrackChanged.self, on: .main) { screen, message in
      print(message.title)
    }
  }
}
