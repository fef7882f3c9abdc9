// expect-error: type 'LevelChanged.Subject' (aka 'Player') does not conform to the 'Sendable' protocol
import Campanile

final class Player {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
}

func observe(_ center: MessageCenter) -> ObservationToken {
  center.observe(LevelChanged.self) { message, subject in print(message, subject as Any) }
}
