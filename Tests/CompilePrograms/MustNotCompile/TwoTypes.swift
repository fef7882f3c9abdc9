// expect-error: missing argument labels 'owner:options:file:line::' in call
// expect-error: cannot convert value of type 'TrackEnded.Type' to expected argument type
// expect-error: cannot convert return expression of type 'Registration' to return type 'ObservationToken'
// expect-error: requires that '(Any) -> ()' be a class type
// Two message types in one call.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

struct TrackEnded: MessageCenter.Message {}

func follow(_ center: MessageCenter) -> ObservationToken {
  center.observe(TrackChanged.self, TrackEnded.self) { print($0) }
}
