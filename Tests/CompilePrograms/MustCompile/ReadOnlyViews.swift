// A state and a broadcaster that others follow and only their owner changes.
import Campanile

final class Player: Sendable {
  private let state = CurrentValue(false)
  private let finishes = Broadcaster<String>()

  let isPlaying: ReadOnlyState<Bool>
  var finished: Signal<String> { finishes.signal }

  init() { isPlaying = state.readOnly }

  func play() {
    state.value = true
    state.update { $0.toggle() }
    finishes.send("Aria")
  }
}

@MainActor
final class Button {
  var isSelected = false
  var title = ""

  init(_ player: Player) {
    isSelected = player.isPlaying.value
    player.isPlaying.observe(owner: self, on: .main, options: .initial) {
      button, isPlaying in
      button.isSelected = isPlaying
    }
    player.isPlaying.changes.observe(
      owner: self, on: .main, options: [.initial, .distinct, .once]
    ) {
      button, change in
      button.title = change.old == nil ? "first" : "later"
    }
    player.finished.observe(owner: self, on: .main) { $0.title = $1 }
  }
}

/// Whatever follows, whoever sends.
func log(_ source: some ObservationSource<String>) -> ObservationToken {
  source.observe { print($0) }
}

func log(all sources: [Signal<String>]) -> [ObservationToken] {
  sources.map { $0.observe { print($0) } }
}

func log(state source: some StateSource<Bool>) -> ObservationToken {
  source.observe(options: .initial) { print($0) }
}
