// expect-error: has no member 'send'
import Campanile

final class Player: Sendable {
  private let finishes = Broadcaster<String>()
  var finished: Signal<String> { finishes.signal }
}

func send(_ player: Player) {
  player.finished.send("Aria")
}
