import Campanile
import CampanileKVO
import Foundation

/// A screen that draws one line.
@MainActor protocol Screen: AnyObject {
  var line: String { get }
}

/// Shows the state and the position of the music.
///
/// The screen is the owner of its observations. So it keeps no token, and nothing has to be undone
/// when the screen is released. The player's properties are observed by key path, and the screen is
/// passed to each observer.
@MainActor final class NowPlayingScreen: Screen {
  let tally = Tally("now-playing screen", counts: "positions, states, one track")
  private var state = Player.State.ready
  private var duration = 0.0
  private var seconds = 0.0

  init(_ player: Player) {
    player.state.observe(owner: self, on: .main, options: [.initial, .distinct]) { screen, state in
      screen.tally.note()
      screen.state = state
    }
    // The track was set before the screen was created. `.initial` delivers it.
    player.changes(of: \.track?.duration, options: .initial).observe(owner: self, on: .main) {
      screen, change in
      screen.tally.note()
      screen.duration = change.new ?? 0
    }
    // The decoding thread sets the position. The observer runs later on the main actor, with the
    // value of that change.
    player.changes(of: \.position.seconds).observe(owner: self, on: .main) { screen, change in
      screen.tally.note()
      screen.seconds = change.new
    }
  }

  var line: String {
    let word =
      switch state {
      case .paused: "paused "
      case .stopping, .ended: "ended  "
      case .ready, .playing: "playing"
      }
    let fraction = duration > 0 ? seconds / duration : 0
    return "\(word) [\(bar(fraction, width: 24))] \(clock(seconds)) of \(clock(duration))"
  }

  private func clock(_ seconds: Double) -> String {
    let tenths = Int(seconds * 10)
    let rest = tenths / 10 % 60
    return "\(tenths / 600):\(rest < 10 ? "0" : "")\(rest).\(tenths % 10)"
  }
}

/// Floats above the other screens, and shows the loudness of the music while it plays.
@MainActor final class FloatingBar: Screen {
  let tally = Tally("floating bar", counts: "levels and states")
  private var isPlaying = false
  private var peak: Float = 0

  init(_ player: Player) {
    // The bar is created while the music plays. `.initial` delivers the current state at once.
    // `.distinct` leaves out states that are equal to the previous one.
    player.state.observe(owner: self, on: .main, options: [.initial, .distinct]) { bar, state in
      bar.tally.note()
      bar.isPlaying = state == .playing
    }
    player.center.messages(of: LevelChanged.self, about: player).observe(owner: self, on: .main) {
      bar, message in
      bar.tally.note()
      bar.peak = message.peak
    }
  }

  var line: String {
    // The meter begins at -48 decibels.
    let loudness = isPlaying ? 1 + log10(max(Double(peak), 1e-9)) * 20 / 48 : 0
    return "level [\(bar(loudness, width: 12))]"
  }
}

/// Draws the last few levels, until it is closed.
@MainActor final class Visualizer: Screen {
  let tally: Tally
  private var drawing = String(repeating: " ", count: 16)

  init(_ player: Player, tally: Tally) {
    self.tally = tally
    let shades = Array(" .:-=+*#")
    player.center.messages(of: LevelChanged.self, about: player).observe(owner: self, on: .main) {
      screen, message in
      screen.tally.note()
      screen.drawing.removeFirst()
      screen.drawing.append(shades[Int(message.peak * 7)])
    }
  }

  var line: String { "visualizer \(drawing)" }
}

/// A bar of `width` characters, filled up to `fraction`.
private func bar(_ fraction: Double, width: Int) -> String {
  let filled = Int((min(max(fraction, 0), 1) * Double(width)).rounded())
  return String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
}
