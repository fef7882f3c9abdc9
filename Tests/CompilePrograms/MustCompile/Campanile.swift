// The examples of the documentation's first page.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor
final class Screen {
  var title = ""

  init(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self, on: .main) { screen, message in
      screen.title = message.title
    }
  }
}

func play(_ center: MessageCenter) {
  center.post(TrackChanged(title: "Aria"))
}
