// expect-error: loses global actor 'Library'
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@globalActor actor Library {
  static let shared = Library()
}

@Library func show(_ title: String) {}

func follow(_ center: MessageCenter) -> ObservationToken {
  center.observe(TrackChanged.self) { @Library message in show(message.title) }
}
