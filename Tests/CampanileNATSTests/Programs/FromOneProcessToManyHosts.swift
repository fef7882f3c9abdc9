// The examples of the guide.
#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import Logging
  import ServiceLifecycle

  private func inOneHost(_ center: MessageCenter) {
    let relay = Relay(.host("player"), name: "screen")
    relay.carry(TrackChanged.self, in: center)
  }

  private func onManyHosts() -> Relay {
    let relay = Relay(.nats("nats://127.0.0.1:4222,nats://127.0.0.1:4223"), name: "screen")
    return relay
  }

  private func throughRestarts() -> Relay {
    let relay = Relay(
      .nats(
        "nats://127.0.0.1:4222",
        .durable("player", creating: ["player.>"], replicas: 3, as: "screen")))
    return relay
  }

  private func sharing(_ relay: Relay, _ center: MessageCenter) {
    relay.carry(TrackChanged.self, in: center, .inward, .oneOf("screens"))
  }

  private func asService(_ relay: Relay, _ logger: Logger) async throws {
    let group = ServiceGroup(services: [relay], logger: logger)
    try await group.run()
  }
#endif
