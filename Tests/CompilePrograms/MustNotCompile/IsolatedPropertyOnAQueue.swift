// isolated to the main actor by default
// expect-error: main actor-isolated property 'caption' can not be referenced from a Sendable closure
import Campanile
import Dispatch

struct Track { var caption: String { "Aria" } }
struct TrackChanged: MessageCenter.Message { var track: Track }

nonisolated final class Index: Sendable {
  func follow(_ center: MessageCenter, _ queue: DispatchQueue) {
    center.observe(TrackChanged.self, owner: self, on: .queue(queue)) { index, message in
      print(message.track.caption)
    }
  }
}
