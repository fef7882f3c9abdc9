// expect-error: ReferenceWritableKeyPath
import CampanileKVO
import Observation

final class Track: Observable {
  @Observed var tags: [String] = []
  var sorted: [String] { tags.sorted() }
}

func change(_ track: Track) {
  track.mutableArray(\.sorted).append("live")
}
