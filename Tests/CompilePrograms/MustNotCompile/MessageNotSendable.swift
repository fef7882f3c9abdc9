import Campanile

final class Cover { var data: [UInt8] = [] }

// expect-error: stored property 'cover' of 'Sendable'-conforming struct 'CoverLoaded' has non-Sendable type 'Cover'
struct CoverLoaded: MessageCenter.Message { var cover: Cover }

// language mode 5: warning
