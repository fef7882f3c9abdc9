// expect-error: actor-isolated property 'titles'
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

actor Log {
  var titles: [String] = []
}

func observe(_ center: MessageCenter, _ one: Log, _ other: Log) {
  center.observe(TrackChanged.self, on: one) { _, message in
    other.titles.append(message.title)
  }
}
