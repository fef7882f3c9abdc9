// expect-error: result of call to 'observeAsync
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

func observe(_ center: MessageCenter) {
  center.messages(of: TrackChanged.self).observeAsync { print($0.title) }
}
