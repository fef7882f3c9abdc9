// expect-error: 8:48: value of type 'TrackChanged' has no member 'titel'
// A member of the message is misspelt.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

func follow(_ center: MessageCenter) -> ObservationToken {
  center.observe(TrackChanged.self) { print($0.titel) }
}
