// expect-error: main actor-isolated
import Dispatch
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor func show(_ message: TrackChanged) { print(message.title) }

func observe(_ center: MessageCenter, _ queue: DispatchQueue) -> ObservationToken {
  center.observe(TrackChanged.self, on: .queue(queue)) { show($0) }
}
