// expect-error: call to global actor 'Library'-isolated global function 'show'
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@globalActor actor Library {
  static let shared = Library()
}

@Library func show(_ title: String) {}

func follow(_ center: MessageCenter) {
  center.observe(TrackChanged.self, on: Library.shared) { _, message in show(message.title) }
}
