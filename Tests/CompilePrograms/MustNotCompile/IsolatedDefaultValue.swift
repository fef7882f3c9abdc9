// isolated to the main actor by default
// expect-error: main actor-isolated default value in a nonisolated context
import Campanile

struct Track {
  var title: String
  init(title: String) { self.title = title }
}
struct TrackChanged: MessageCenter.Message { var track = Track(title: "none") }
