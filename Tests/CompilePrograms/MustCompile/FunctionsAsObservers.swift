// A function is an observer, and an observer can stand in a condition.
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

nonisolated func show(_ value: Int) { print(value) }
nonisolated func showTrack(_ message: TrackChanged) { print(message.title) }
@MainActor func showOnMain(_ value: Int) { print(value) }

final class Log {
  private var tokens: [ObservationToken] = []

  func start(_ broadcaster: Broadcaster<Int>, _ center: MessageCenter, _ queue: Delivery) {
    tokens = [
      broadcaster.observe(show),
      broadcaster.observe(on: queue, show),
      broadcaster.observe(on: .main, showOnMain),
      broadcaster.observe(options: .once, show),
      broadcaster.signal.observe(show),
      center.observe(TrackChanged.self, showTrack),
      center.observe(TrackChanged.self, on: queue, options: .once, showTrack),
    ]
    if broadcaster.observe({ print($0) }).isActive { print("observed") }
  }
}
