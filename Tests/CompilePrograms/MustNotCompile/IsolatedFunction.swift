// isolated to the main actor by default
// expect-error: loses global actor 'MainActor'
import Campanile

struct Track { var title = "" }
func caption(_ track: Track) -> String { track.title }

func captions(_ track: ReadOnlyState<Track>) -> ReadOnlyState<String> { track.map(caption) }
