// expect-error: 13:70: main actor-isolated property 'title' can not be mutated from a Sendable closure
// A token and `[weak self]`, and no `on: .main`.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor
final class Screen {
  var title = ""
  var token: ObservationToken?

  func follow(_ center: MessageCenter) {
    token = center.observe(TrackChanged.self) { [weak self] in self?.title = $0.title }
  }
}
