// expect-error: non-Sendable type 'Log'
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

final class Log { var titles: [String] = [] }

func observe(_ center: MessageCenter, _ log: Log) -> ObservationToken {
  center.observe(TrackChanged.self) { log.titles.append($0.title) }
}
