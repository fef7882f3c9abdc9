// isolated to the main actor by default
// expect-error: main actor-isolated conformance of 'Track' to 'Equatable' cannot be used in nonisolated context
import Campanile

struct Track: Equatable { var title = "" }
struct TrackChanged: MessageCenter.Message { var track: Track }

func follow(_ center: MessageCenter, favorite: Track) -> Signal<TrackChanged> {
  center.messages(of: TrackChanged.self).filter { $0.track == favorite }
}
