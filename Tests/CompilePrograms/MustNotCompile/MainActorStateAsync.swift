// expect-error: main actor-isolated property 'title' can not be mutated
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor
final class Screen {
  var title = ""

  func follow(_ center: MessageCenter) {
    center.messages(of: TrackChanged.self).observeAsync(owner: self) { screen, message in
      screen.title = message.title
    }
  }
}
