// expect-error: does not conform to protocol 'MessageCenter.Message'
import Campanile

struct Song {}

struct SongChanged: MessageCenter.Message {
  typealias Subject = Song
}
