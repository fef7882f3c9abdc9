// expect-error: actor-isolated property 'titles'
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

actor Log {
  var titles: [String] = []

  func follow(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self) { log, message in
      log.titles.append(message.title)
    }
  }
}
