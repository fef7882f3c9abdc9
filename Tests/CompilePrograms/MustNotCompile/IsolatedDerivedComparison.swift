// isolated to the main actor by default
// expect-error: main actor-isolated conformance of 'Track' to 'Equatable' cannot be used in nonisolated context
import Campanile

struct Track: Equatable { var title = "" }
struct TrackChanged: MessageCenter.Message, Equatable { var track: Track }
