// expect-error: 10:68: argument 'on' must precede argument 'options'
// The options come before the delivery.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor
final class Screen {
  func follow(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self, options: .once, on: .main) { _, _ in }
  }
}
