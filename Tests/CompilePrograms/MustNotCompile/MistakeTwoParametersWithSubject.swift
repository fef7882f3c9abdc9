// expect-error: 12:64: contextual closure type '@Sendable (MessageCenter.Posted<LevelChanged>) throws -> Void' expects 1 argument, but 2 were used in closure body
// `withSubject` hands over one value, with message and subject in it.
import Campanile

final class Player: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
}

func follow(_ center: MessageCenter) -> ObservationToken {
  center.messages(of: LevelChanged.self).withSubject.observe { message, player in print(message) }
}
