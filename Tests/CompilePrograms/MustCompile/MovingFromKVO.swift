// The examples of the guide of this name.
import CampanileKVO
import Observation

final class Track: Observable {
  @Observed var title = ""
}

final class Player: Observable {
  @Observed var track = Track()
  @Observed var level = 0
  @Observed var balance = 0
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
    print(result.outcome == .added)
  }
}

// What the tables name.
final class Panel: KVOChangeHandler {
  lazy var kvo = KVOController(owner: self)
  func levelChanged(_ player: Player, _ change: KVOChange<Int>) {}
  func handleChange(of object: AnyObject, _ change: KVOChange<Any>) {}

  func follow(_ player: Player) {
    kvo.observe(player, \.level) { panel, player, change in print(change.new) }
    kvo.observe(player, \.level) { $0.levelChanged($1, $2) }
    kvo.observe(player, \.level)
    kvo.observe(player, of: { ($0.level, $0.track.title) }) { _, _, change in
      print(change.new.0, change.new.1)
    }
    for path in [\Player.level, \.balance] { kvo.observe(player, path) { _, _, _ in } }
    kvo.unobserve(player, \.level)
    kvo.unobserve(player)
    kvo.unobserveAll()
  }
}
