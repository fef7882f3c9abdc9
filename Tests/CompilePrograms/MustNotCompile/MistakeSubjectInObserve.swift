// expect-error: 13:17: extraneous argument label 'about:' in call
// expect-error: 13:44: cannot convert value of type 'Player' to expected argument type 'ObservationOptions<MessageCenter.Messages<LevelChanged>>'
// The subject is given to `observe`, and not to `messages(of:about:)`.
import Campanile

final class Player: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
}

func follow(_ center: MessageCenter, _ player: Player) -> ObservationToken {
  center.observe(LevelChanged.self, about: player) { _ in }
}
