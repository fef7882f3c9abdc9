// expect-error: 10:37: cannot convert value of type 'TrackEnded.Type' to expected argument type 'ObservationOptions<MessageCenter.Messages<TrackChanged>>'
// Two message types in one call.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

struct TrackEnded: MessageCenter.Message {}

func follow(_ center: MessageCenter) -> ObservationToken {
  center.observe(TrackChanged.self, TrackEnded.self) { print($0) }
}
