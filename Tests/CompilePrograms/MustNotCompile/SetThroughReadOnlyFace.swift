// expect-error: cannot assign to property: 'value' is a get-only property
import Campanile

final class Player: Sendable {
  private let state = CurrentValue(false)
  var isPlaying: ReadOnlyState<Bool> { state.readOnly }
}

func set(_ player: Player) {
  player.isPlaying.value = true
}
