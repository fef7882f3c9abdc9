// expect-error: was never used
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

func observe(_ center: MessageCenter) {
  let token = center.observe(TrackChanged.self) { print($0.title) }
}
