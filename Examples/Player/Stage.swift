import Campanile
import CampanileKVO

/// The screens, and their changes while the music plays.
@MainActor final class Stage {
  private let player: Player
  private let display: Display
  private let refreshInterval: Double
  private var nextRefresh = 0.0

  private let nowPlaying: NowPlayingScreen
  private let floatingBar: FloatingBar
  private let album: StackedScreen
  private let track: StackedScreen
  private let stack = ScreenStack()
  private var visualizer: Visualizer?
  private let visualizerTally = Tally("visualizer", counts: "levels until it is closed")
  /// When the visualizer was closed: the positions and levels until then, and how many it received.
  private var atClose: (told: Int, heard: Int)?

  /// All screens, held weakly.
  ///
  /// A closed screen is not asked for its line.
  private let screens = Multicast<any Screen>()

  init(_ player: Player, duration: Double, speed: Double, display: Display) {
    self.player = player
    self.display = display
    // Measured in the time of the music: a fixed rate for viewers, or eight lines of a short piece.
    refreshInterval = min(speed * display.secondsPerRefresh, duration / 8)
    nowPlaying = NowPlayingScreen(player)
    floatingBar = FloatingBar(player)
    album = StackedScreen("album screen", player)
    track = StackedScreen("track screen", player)
    visualizer = Visualizer(player, tally: visualizerTally)
    stack.push(album)
    stack.push(track)
    for screen in [nowPlaying, floatingBar, album, track, visualizer] as [(any Screen)?] {
      if let screen { screens.add(screen) }
    }
    // Registered last, so it is called last: all screens have received the position before.
    player.changes(of: \.position).observe(owner: self, on: .main) { stage, change in
      stage.turn(at: change.new)
    }
    player.state.observe(owner: self, on: .main, options: .distinct) { stage, _ in stage.refresh() }
  }

  private func turn(at position: Position) {
    if position.fraction >= 0.5, visualizer != nil {
      // To close a screen is to release it. The player is not notified, and no token is canceled.
      visualizer = nil
      atClose = (player.newsCount, visualizerTally.count)
      display.say("Halfway: the visualizer is closed.")
    }
    if position.fraction >= 0.75, stack.count == 2 {
      stack.pop()
      display.say("Three quarters: the track screen is gone, the album screen reacts again.")
    }
    if position.seconds >= nextRefresh {
      nextRefresh = position.seconds + refreshInterval
      refresh()
    }
  }

  private func refresh() {
    var lines: [String] = []
    screens.call { lines.append($0.line) }
    display.show(lines)
  }

  /// Writes the table of posts, changes and observers, including `others`.
  func report(with others: [Tally]) {
    let report = Report(
      posted: [player.positionsSet, player.levelsPosted, player.statesSent],
      observers: [
        nowPlaying.tally, floatingBar.tally, album.tally, track.tally, visualizerTally,
      ] + others)
    report.lines.forEach(display.say)
    if let atClose {
      display.say(
        """
        After the visualizer was closed, it received \(visualizerTally.count - atClose.heard) of \
        \(player.newsCount - atClose.told) positions and levels.
        """)
    }
  }
}
