// A screen of the main actor forgets to say `on: .main`.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor
final class Screen {
  var title = ""

  func follow(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self) { screen, message in
      // expect-error: main actor-isolated property 'title' can not be mutated from a Sendable closure
      screen.title = message.title
    }
  }
}

// language mode 5: error
