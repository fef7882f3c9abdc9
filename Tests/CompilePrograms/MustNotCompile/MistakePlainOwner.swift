// The owner is a class that is neither isolated nor Sendable.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

final class Log {
  func follow(_ center: MessageCenter) {
    // expect-error: type 'Log' does not conform to the 'Sendable' protocol
    center.observe(TrackChanged.self, owner: self) { _, message in print(message.title) }
  }
}

// language mode 5: accepted
