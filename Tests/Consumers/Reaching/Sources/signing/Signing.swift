import CampanileNATS
import CampanileRelay

/// Wants to sign, without having asked for the trait.
func sign() -> Relay {
  Relay(.nats("nats://a", .nkey(seed: "SU")))
}
