// A state and a broadcaster that others follow and only their owner changes.
import Campanile

final class Player: Sendable {
  private let state = CurrentValue(false)
  private let _finished = Broadcaster<String>()

  var isPlaying: some FollowableValue<Bool> { state }
  var finished: some Followable<String> { _finished }

  func play() {
    state.value = true
    state.update { $0.toggle() }
    _finished.send("Aria")
  }
}

@MainActor
final class Button {
  var isSelected = false
  var title = ""

  init(_ player: Player) {
    isSelected = player.isPlaying.value
    player.isPlaying.observe(owner: self, on: .main, .initial) { button, change in
      button.isSelected = change.new
    }
    player.isPlaying.observe(owner: self, on: .main, [.initial, .distinct, .once]) {
      button, change in
      button.title = change.old == nil ? "first" : "later"
    }
    player.finished.observe(owner: self, on: .main) { $0.title = $1 }
  }
}

/// Whatever follows, whoever sends.
func log(_ source: some Followable<String>) -> ObservationToken {
  source.observe { print($0) }
}

func log(any source: any FollowableValue<Bool>) -> ObservationToken {
  source.observe(.initial) { print($0.new) }
}
