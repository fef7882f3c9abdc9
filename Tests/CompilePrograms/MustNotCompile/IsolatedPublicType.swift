// isolated to the main actor by default
// expect-error: non-Sendable type 'Track'
import Campanile

public nonisolated struct Track { public var title = "" }

public struct TrackChanged: MessageCenter.Message { public var track: Track }
