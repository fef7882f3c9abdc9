// expect-error: does not conform to the 'Sendable' protocol
import Campanile

final class Cover { var data: [UInt8] = [] }

typealias Covers = Broadcaster<Cover>
