// The examples of the guide of this name.
import Campanile

final class Player: Sendable {
  private let state = CurrentValue(false)

  var isPlaying: some FollowableValue<Bool> { state }

  func play() { state.value = true }
  func stop() { state.value = false }
}

@MainActor
final class Button {
  var isSelected = false
  var title = ""

  init(_ player: Player) {
    player.isPlaying.observe(owner: self, on: .main, .initial) { button, change in
      button.isSelected = change.new
    }
    player.isPlaying.observe(owner: self, on: .main, [.initial, .distinct]) { button, change in
      button.title = change.new ? "Stop" : "Play"
    }
  }
}

func add() -> Int {
  let played = CurrentValue<[String]>([])
  let count = played.update { titles in
    titles.append("Aria")
    return titles.count
  }
  return count
}

func read(_ player: Player) async {
  for await change in player.isPlaying.values(.initial) {
    print(change.new ? "playing" : "silent")
  }
}
