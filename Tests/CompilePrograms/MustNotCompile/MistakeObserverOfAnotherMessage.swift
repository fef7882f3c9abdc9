// expect-error: 12:44: cannot convert value of type 'TrackChanged' to expected argument type 'TrackEnded'
// The observer takes a message of another type.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

struct TrackEnded: MessageCenter.Message {}

func show(_ message: TrackEnded) {}

func follow(_ center: MessageCenter) -> ObservationToken {
  center.observe(TrackChanged.self) { show($0) }
}
