// not-with-default-isolation: the examples say themselves what is on the main actor.
// The examples of the guide of this name.
import CampanileKVO
import Observation

final class Track: Observable {
  @Observed var title = ""
}

final class Player: Observable {
  @Observed var track = Track()
  @Observed var level = 0
}

final class Screen {
  var title = ""
  var level = 0
  lazy var kvo = KVOController(owner: self)

  func follow(_ player: Player) {
    kvo.observe(player, \.track.title, options: .old) { screen, player, change in
      screen.title = change.new
    }
  }

  func observeAgain(_ player: Player) {
    let result = kvo.observe(player, \.level, policy: .append) { screen, player, change in
      screen.level = change.new
    }
    print(result == .added)
  }
}
