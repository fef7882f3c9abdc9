// expect-error: static property 'distinct' requires
import CampanileKVO
import Observation

struct Cover {}

final class Track: Observable {
  @Observed var cover = Cover()
}

func follow(_ track: Track) -> KVOToken {
  track.observe(\.cover, options: .distinct) { _, _ in }
}
