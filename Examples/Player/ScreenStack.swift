import Campanile
import CampanileKVO

/// Screens on top of one another, of which only the topmost reacts.
@MainActor final class ScreenStack {
  private var screens: [StackedScreen] = []

  var count: Int { screens.count }

  /// Puts `screen` on top; the one below it hears nothing for a while.
  func push(_ screen: StackedScreen) {
    screens.last?.followings.pause()
    screens.append(screen)
  }

  /// Takes the topmost screen away; the one below it reacts again.
  func pop() {
    screens.popLast()?.followings.pause()
    screens.last?.followings.resume()
  }
}

/// A screen that counts the positions it hears.
@MainActor final class StackedScreen: Screen {
  let tally: Tally
  /// Everything the screen follows, to be paused and resumed together.
  fileprivate let followings = TokenBag()

  init(_ name: String, _ player: Player) {
    tally = Tally(name)
    player.changes(of: \.position)
      .observe(owner: self, on: .main) { screen, _ in screen.tally.note() }
      .store(in: followings)
  }

  var line: String { "\(tally.name) \(tally.count)" }
}
