// expect-error: result of call to 'observe
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

func observe(_ center: MessageCenter) {
  center.observe(TrackChanged.self) { print($0.title) }
}
