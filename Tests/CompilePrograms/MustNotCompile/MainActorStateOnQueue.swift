// expect-error: main actor-isolated property 'title' can not be mutated
import Dispatch
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor
final class Screen {
  var title = ""

  func follow(_ center: MessageCenter, _ queue: DispatchQueue) {
    center.observe(TrackChanged.self, owner: self, on: .queue(queue)) { screen, message in
      screen.title = message.title
    }
  }
}
