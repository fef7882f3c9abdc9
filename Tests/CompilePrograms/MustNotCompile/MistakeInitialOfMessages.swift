// expect-error: 8:47: 'initial' is unavailable: Only a state has a value to begin with: CurrentValue, ReadOnlyState
// Messages have no value to begin with.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

func follow(_ center: MessageCenter) -> ObservationToken {
  center.observe(TrackChanged.self, options: .initial) { print($0.title) }
}
