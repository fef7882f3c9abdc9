// expect-error: async -> ()' to parameter expecting synchronous function type
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

func show(_ message: TrackChanged) async {}

func observe(_ center: MessageCenter) -> ObservationToken {
  center.observe(TrackChanged.self) { await show($0) }
}
