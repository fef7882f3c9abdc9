// expect-error: 12:10: 'observe(_:about:on:options:_:)' is unavailable: Name the subject first: messages(of: type, about: subject).observe
// The subject is given to `observe`, and not to `messages(of:about:)`.
import Campanile

final class Player: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
}

func follow(_ center: MessageCenter, _ player: Player) -> ObservationToken {
  center.observe(LevelChanged.self, about: player) { _ in }
}
