import Campanile
import Observation

final class Player: Sendable {
  let title = CurrentValue("Aria")
  let isPlaying = CurrentValue(false)
  let caption: ReadOnlyState<String>
  init() { caption = title.combined(with: isPlaying) { $1 ? "Playing \($0)" : $0 } }
}

@MainActor @Observable final class PlayerModel {
  private(set) var caption = ""

  init(_ player: Player) {
    player.caption.observe(owner: self, on: .main, options: [.initial, .distinct]) {
      $0.caption = $1
      print($1)
    }
  }
}

@main struct ViewModel {
  @MainActor static func main() {
    let player = Player()
    let model = PlayerModel(player)
    player.isPlaying.value = true
    player.title.value = "Var. 1"
    print("The view shows \(model.caption)")
  }
}
