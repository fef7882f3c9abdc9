// expect-error: 10:63: cannot pass function of type '@Sendable (Screen, TrackChanged) async -> ()' to parameter expecting synchronous function type
// An observer suspends, and is not asynchronous.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor
final class Screen {
  func follow(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self, on: .main) { screen, message in
      await Task.yield()
    }
  }
}
