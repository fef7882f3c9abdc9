// The example of the page.
import Campanile
import CampanileRelay

struct TrackChanged: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "player.track.changed"
  var title: String
}

nonisolated func create(_ center: MessageCenter) {
  let relay = Relay(.host("player"), name: "screen")
  relay.carry(TrackChanged.self, in: center)
  center.post(TrackChanged(title: "Aria"))  // heard in each process that carries the type
}
