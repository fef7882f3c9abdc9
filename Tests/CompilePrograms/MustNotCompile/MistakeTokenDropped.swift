// expect-error: 8:10: result of call to 'observe(_:on:options:file:line:_:)' is unused
// Nobody keeps the token.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

func follow(_ center: MessageCenter) {
  center.observe(TrackChanged.self) { print($0.title) }
}
