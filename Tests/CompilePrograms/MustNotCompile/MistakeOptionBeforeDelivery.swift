// expect-error: 10:59: argument 'on' must precede unnamed argument #3
// The options come before the delivery.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor
final class Screen {
  func follow(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self, .once, on: .main) { _, _ in }
  }
}
