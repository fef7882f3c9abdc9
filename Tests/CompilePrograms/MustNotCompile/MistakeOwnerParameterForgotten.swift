// expect-error: 12:65: contextual closure type '@MainActor @Sendable (Screen, TrackChanged) throws -> Void' expects 2 arguments, but 1 was used in closure body
// An observer with an owner takes the message alone.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor
final class Screen {
  var title = ""

  func follow(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self, on: .main) { message in
      print(message.title)
    }
  }
}
