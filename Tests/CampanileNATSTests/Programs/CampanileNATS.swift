// The example of the page.
#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay

  struct TrackChanged: RelayedMessage {
    static let relaySubject: RelaySubject<Self> = "player.track.changed"
    var title: String
  }

  private func connect(_ center: MessageCenter) {
    let relay = Relay(.nats("nats://a,nats://b", .trusting("/etc/player/ca.pem")), name: "screen")
    relay.carry(TrackChanged.self, in: center)
    center.post(TrackChanged(title: "Aria"))  // heard on each host that carries the type
  }
#endif
