// expect-error: 14:14: main actor-isolated property 'title' can not be mutated from a Sendable closure
// An asynchronous observer of the main actor forgets to say `on: .main`.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor
final class Screen {
  var title = ""

  func follow(_ center: MessageCenter) {
    center.messages(of: TrackChanged.self).observeAsync(owner: self) { screen, message in
      await Task.yield()
      screen.title = message.title
    }
  }
}
