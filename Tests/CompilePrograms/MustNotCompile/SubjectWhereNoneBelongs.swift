// expect-error: cannot convert value of type 'Player' to expected argument type
import Campanile

struct TrackChanged: MessageCenter.Message { var title: String }

final class Player: Sendable {}

func post(_ center: MessageCenter, _ player: Player) {
  center.post(TrackChanged(title: "Aria"), about: player)
}
