// expect-error: initializer is inaccessible
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

func post(_ center: MessageCenter) {
  center.post(TrackChanged(title: "Aria"), about: MessageCenter.NoSubject())
}
