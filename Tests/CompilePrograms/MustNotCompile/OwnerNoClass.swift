// expect-error: be a class type
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

struct Log {}

func observe(_ center: MessageCenter, _ log: Log) {
  center.observe(TrackChanged.self, owner: log) { log, message in print(message) }
}
