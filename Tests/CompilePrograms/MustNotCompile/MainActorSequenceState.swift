// expect-error: main actor-isolated property 'title' can not be mutated
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

@MainActor
final class Screen {
  var title = ""

  nonisolated func follow(_ center: MessageCenter) async {
    for await message in center.messages(of: TrackChanged.self).values() { title = message.title }
  }
}
