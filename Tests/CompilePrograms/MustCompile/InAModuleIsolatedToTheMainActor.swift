// isolated to the main actor by default
// The examples of the guide of this name.
import Campanile
import Dispatch

struct TrackChanged: MessageCenter.Message, Equatable { var track: Track }

final class Screen {
  var title = ""

  init(_ center: MessageCenter) {
    center.observe(TrackChanged.self, owner: self, on: .main) { screen, message in
      screen.title = message.track.caption
    }
  }
}

nonisolated struct Track: Codable, Hashable {
  var title = ""
  var caption: String { "Playing \(title)" }
}

nonisolated func caption(_ track: Track) -> String { track.caption }

final class Player {
  private let state = CurrentValue(Track())
  var track: ReadOnlyState<Track> { state.readOnly }
  var captions: ReadOnlyState<String> { state.map(caption) }
}

final class TitleLabel {
  var text = ""

  func follow(_ player: Player) {
    player.track.observe(owner: self, on: .main, options: [.initial, .distinct]) { label, track in
      label.text = track.title
    }
  }
}

nonisolated final class Index: Sendable {
  private let captions = CurrentValue<[String]>([])

  func follow(_ center: MessageCenter, _ queue: DispatchQueue) {
    center.observe(TrackChanged.self, owner: self, on: .queue(queue)) { index, message in
      index.captions.update { $0.append(message.track.caption) }
    }
  }
}
