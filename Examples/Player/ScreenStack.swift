import Campanile
import CampanileKVO

/// Stacked screens, of which only the topmost reacts.
@MainActor final class ScreenStack {
  private var screens: [StackedScreen] = []

  var count: Int { screens.count }

  /// Puts `screen` on top.
  ///
  /// The screen below is paused.
  func push(_ screen: StackedScreen) {
    screens.last?.followings.pause()
    screens.append(screen)
  }

  /// Removes the topmost screen.
  ///
  /// The screen below is resumed.
  func pop() {
    screens.popLast()?.followings.pause()
    screens.last?.followings.resume()
  }
}

/// A screen that counts the positions it receives.
@MainActor final class StackedScreen: Screen {
  let tally: Tally
  /// All observations of the screen, so that they can be paused and resumed together.
  fileprivate let followings = TokenBag()

  init(_ name: String, _ player: Player) {
    tally = Tally(name, counts: "positions while it is on top")
    player.changes(of: \.position)
      .observe(owner: self, on: .main) { screen, _ in screen.tally.note() }
      .store(in: followings)
  }

  var line: String { "\(tally.name) \(tally.count)" }
}
