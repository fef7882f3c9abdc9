// expect-error: result of call to 'observe
import CampanileKVO
import Observation

final class Track: Observable {
  @Observed var title = ""
}

func follow(_ track: Track) {
  track.observe(\.title) { _, change in print(change.new) }
}
