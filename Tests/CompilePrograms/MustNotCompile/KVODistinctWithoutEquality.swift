// expect-error: 13:36: 'distinct' is unavailable: Values can be compared only if their type is Equatable
import Campanile
import CampanileKVO
import Observation

struct Cover {}

final class Track: Observable {
  @Observed var cover = Cover()
}

func follow(_ track: Track) -> ObservationToken {
  track.observe(\.cover, options: .distinct) { _, _ in }
}
