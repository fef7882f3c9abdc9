// isolated to the main actor by default
// expect-error: (aka '@Sendable (Track) -> String') may introduce data races
import Campanile

struct Track { var caption: String { "Aria" } }

func captions(_ track: ReadOnlyState<Track>) -> ReadOnlyState<String> { track.map(\.caption) }
