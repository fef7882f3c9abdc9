// expect-error: 12:27: 'distinct' is unavailable: Values can be compared only if their type is Equatable
import CampanileKVO
import Observation

struct Cover {}

final class Track: Observable {
  @Observed var cover = Cover()
}

func follow(_ track: Track) -> KVOToken {
  track.observe(\.cover, .distinct) { _, _ in }
}
