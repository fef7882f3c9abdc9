// expect-error: does not conform to the 'Sendable' protocol
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

final class Log { var titles: [String] = [] }

func observe(_ center: MessageCenter, _ log: Log) {
  center.observe(TrackChanged.self, owner: log) { log, message in
    log.titles.append(message.title)
  }
}
