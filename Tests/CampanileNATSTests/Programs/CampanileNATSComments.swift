// The examples of the documentation comments.
#if NATS
  import CampanileNATS
  import CampanileRelay
  import Logging
  import ServiceLifecycle

  private func connect() -> Relay {
    let relay = Relay(.nats("nats://a,nats://b", .trusting("/etc/player/ca.pem")))
    return relay
  }

  private func leaveServer(_ relay: Relay) {
    relay.reconnect()  // the certificates have been replaced
  }

  private func move(_ relay: Relay) throws {
    try relay.reconnect(to: "nats://c,nats://d")  // the cluster has moved
  }

  private func serve(_ relay: Relay, _ logger: Logger) async throws {
    let group = ServiceGroup(services: [relay], logger: logger)
    try await group.run()
  }
#endif
