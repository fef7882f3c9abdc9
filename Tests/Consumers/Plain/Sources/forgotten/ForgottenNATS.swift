import CampanileNATS
import CampanileRelay

/// Wants other hosts, without having asked for the trait.
func reach() -> Relay {
  Relay(.nats("nats://a"))
}
