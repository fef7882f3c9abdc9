// isolated to the main actor by default
// The compiler makes this comparison once the types are right: it needs a file.
import Campanile

struct Track: Equatable { var title = "" }
// expect-error: main actor-isolated conformance of 'Track' to 'Equatable' cannot be used in nonisolated context
struct TrackChanged: MessageCenter.Message, Equatable { var track: Track }
