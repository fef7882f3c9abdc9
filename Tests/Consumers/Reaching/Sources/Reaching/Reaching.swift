import CampanileNATS
import CampanileRelay

/// Reaches other hosts.
func reach() -> Relay {
  Relay(.nats("nats://a,nats://b", .trusting("ca.pem")), name: "screen")
}
