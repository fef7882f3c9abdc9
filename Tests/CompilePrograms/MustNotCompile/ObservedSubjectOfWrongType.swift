// expect-error: cannot convert value of type 'Radio' to expected argument type
import Campanile

final class Player: Sendable {}
final class Radio: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
}

func observe(_ center: MessageCenter, _ radio: Radio) -> ObservationToken {
  center.messages(of: LevelChanged.self, about: radio).observe { _ in }
}
