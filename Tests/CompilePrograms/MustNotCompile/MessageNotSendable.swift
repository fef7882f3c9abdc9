// expect-error: non-Sendable type 'Cover'
import Campanile

final class Cover { var data: [UInt8] = [] }

struct CoverChanged: MessageCenter.Message { var cover: Cover }
