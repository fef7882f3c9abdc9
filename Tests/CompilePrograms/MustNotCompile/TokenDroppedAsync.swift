// expect-error: result of call to 'observeAsync
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

func observe(_ center: MessageCenter) {
  center.observeAsync(TrackChanged.self) { print($0.title) }
}
