// isolated to the main actor by default
// expect-error: main actor-isolated conformance of 'Track' to 'Equatable' cannot satisfy conformance requirement for a 'Sendable' type parameter
import Campanile

struct Track: Equatable { var title = "" }

final class TitleLabel {
  var text = ""

  func follow(_ track: ReadOnlyState<Track>) {
    track.observe(owner: self, on: .main, options: [.initial, .distinct]) { $0.text = $1.title }
  }
}
