// expect-error: risks causing data races
import CampanileKVO
import Observation

final class Track: Observable {
  @Observed var title = ""
}

func follow(_ track: Track) {
  let token = track.observe(\.title) { _, change in print(change.new) }
  Task.detached { token.cancel() }
  token.cancel()
}
