// expect-error: 13:14: main actor-isolated property 'title' can not be mutated from a Sendable closure
// `.queue(.main)` is for observers that are not isolated.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor
final class Screen {
  var title = ""

  func follow(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self, on: .queue(.main)) { screen, message in
      screen.title = message.title
    }
  }
}
