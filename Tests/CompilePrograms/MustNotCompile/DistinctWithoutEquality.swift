// expect-error: 'distinct' is unavailable: Only changes of a state can be compared
import Campanile

struct Track {}

func follow(_ state: CurrentValue<Track>) -> ObservationToken {
  state.observe(options: .distinct) { _ in }
}
