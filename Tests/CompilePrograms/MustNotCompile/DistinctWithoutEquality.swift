// expect-error: static property 'distinct' requires
import Campanile

struct Track {}

func follow(_ state: CurrentValue<Track>) -> ObservationToken {
  state.observe(.distinct) { _ in }
}
