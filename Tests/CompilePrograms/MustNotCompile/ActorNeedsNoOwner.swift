// expect-error: cannot convert value of type 'Log' to expected argument type 'Delivery'
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

actor Log {
  var titles: [String] = []
}

func observe(_ center: MessageCenter, _ log: Log) {
  center.observe(TrackChanged.self, owner: log, on: log) { log, message in
    log.titles.append(message.title)
  }
}
