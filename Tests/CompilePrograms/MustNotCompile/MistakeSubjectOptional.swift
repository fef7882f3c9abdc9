// expect-error: 12:49: value of optional type 'Player?' must be unwrapped to a value of type 'Player'
// The subject is an optional.
import Campanile

final class Player: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
}

func follow(_ center: MessageCenter, _ player: Player?) -> ObservationToken {
  center.messages(of: LevelChanged.self, about: player).observe { _ in }
}
