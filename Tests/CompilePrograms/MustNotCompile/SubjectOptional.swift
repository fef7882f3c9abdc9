// expect-error: must be unwrapped
import Campanile

final class Player: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
}

func post(_ center: MessageCenter, _ player: Player?) {
  center.post(LevelChanged(), about: player)
}
