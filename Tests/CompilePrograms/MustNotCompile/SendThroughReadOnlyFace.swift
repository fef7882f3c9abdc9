// expect-error: has no member 'send'
import Campanile

final class Player: Sendable {
  private let _finished = Broadcaster<String>()
  var finished: some Followable<String> { _finished }
}

func send(_ player: Player) {
  player.finished.send("Aria")
}
