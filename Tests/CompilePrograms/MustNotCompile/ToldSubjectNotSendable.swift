// expect-error: does not conform to the 'Sendable' protocol
import Campanile

final class Player {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
}

func tell(_ center: MessageCenter) {
  _ = center.messages(of: LevelChanged.self).withSubject
}
