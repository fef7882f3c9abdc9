// expect-error: cannot convert value of type 'Radio' to expected argument type
import Campanile

final class Player: Sendable {}
final class Radio: Sendable {}

struct LevelChanged: MessageCenter.Message {
  typealias Subject = Player
}

func post(_ center: MessageCenter, _ radio: Radio) {
  center.post(LevelChanged(), about: radio)
}
