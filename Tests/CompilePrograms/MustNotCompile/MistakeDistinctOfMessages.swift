// expect-error: 8:60: 'distinct' is unavailable: Only changes of a state can be compared, and only if its values are Equatable
// Messages are not compared.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

func follow(_ center: MessageCenter) -> ObservationToken {
  center.messages(of: TrackChanged.self).observe(options: .distinct) { print($0.title) }
}
