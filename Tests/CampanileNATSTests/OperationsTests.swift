#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Logging
  import enum CoreMetrics.MetricsSystem
  import MetricsTestKit
  import RelayTestSupport
  import ServiceLifecycle
  import TestSupport
  import Testing

  /// Keeps what is logged.
  struct KeepingHandler: LogHandler {
    let lines: CampanileTesting.Recorder<String>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let all = metadata.merging(event.metadata ?? [:]) { $1 }
      lines.record("\(event.level) \(event.message) \(all)")
    }
  }

  /// What all relays of these tests count: a program has one place for it.
  private let metrics: TestMetrics = {
    let metrics = TestMetrics()
    MetricsSystem.bootstrap(metrics)
    return metrics
  }()

  @Suite("A relay on NATS in a program that runs", .withServers, .timeLimit(.minutes(5)))
  struct OperationsTests {
    @Test(
      "Connections, their ends and refusals are logged, without secrets",
      arguments: NATSServer.programs)
    func logging(program: String) async throws {
      let server = try NATSServer(program, "authorization { user: me, password: s3cret }")
      let lines = CampanileTesting.Recorder<String>(timeout: patience)
      let logger = Logger(label: "test") { _ in KeepingHandler(lines: lines) }
      let one = Member(
        .nats(server.url, .user("me", password: "s3cret"), .logger(logger), .pedantic), "one")
      var first = try await lines.next()
      // An attempt that takes longer than five seconds is logged, too.
      while !first.hasPrefix("info Connected to NATS.") { first = try await lines.next() }
      #expect(first.contains("one"))
      one.relay.post(raw: [1], to: String(repeating: "a", count: 4_000))
      #expect(try await lines.next().hasPrefix("warning A message was refused."))
      server.kill()
      #expect(try await lines.next().hasPrefix("notice No connection to NATS."))
      let wrong = Relay(.nats(server.url, .user("me", password: "s3cret!"), .logger(logger)))
      try server.start()
      try await one.relay.flush()
      while try await !lines.next().contains("Authorization Violation") {}
      #expect(!lines.values.contains { $0.contains("s3cret") })
      withExtendedLifetime((one, wrong)) {}
    }

    @Test("An invalid address is logged, and the relay counts as not connected")
    func invalidAddress() async throws {
      let metrics = metrics
      let lines = CampanileTesting.Recorder<String>(timeout: patience)
      let logger = Logger(label: "test") { _ in KeepingHandler(lines: lines) }
      let relay = Relay(.nats("http://a", .logger(logger)), name: "invalid address")
      let line = try await lines.next()
      #expect(line.hasPrefix("notice No connection to NATS."))
      #expect(line.contains("neither nats nor tls") && line.contains("invalid address"))
      let gauge = try metrics.expectGauge(
        "campanile_nats_connected", [("relay", "invalid address")])
      #expect(gauge.lastValue == 0)
      withExtendedLifetime(relay) {}
    }

    @Test("Messages, bytes and connections are counted", arguments: NATSServer.programs)
    func counts(program: String) async throws {
      let (metrics, server) = (metrics, try NATSServer(program))
      let name = "counted \(server.port)"
      func count(_ counter: String) throws -> Int64 {
        try metrics.expectCounter("campanile_nats_" + counter, [("relay", name)]).totalValue
      }
      let (one, two) = try await connected(
        Member(.nats(server.url, .pedantic), name), Member(.nats(server.url)))
      one.post(1...100)
      two.post(101...150)
      for member in [one, two] { #expect(try await member.ticks.next(150).count == 150) }
      #expect(try count("sent_messages") == 100)
      #expect(try count("received_messages") == 50)
      #expect(try count("sent_bytes") > 100 * 8)
      #expect(try count("received_bytes") > 50 * 8)
      #expect(try count("connections") == 1)
      let gauge = try metrics.expectGauge("campanile_nats_connected", [("relay", name)])
      #expect(gauge.lastValue == 1)
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "A relay is a service, which sends what was posted before it ends",
      arguments: NATSServer.programs)
    func service(program: String) async throws {
      let server = try NATSServer(program)
      let (one, two) = try await connected(
        Member(.nats(server.url, .pedantic)), Member(.nats(server.url, .pedantic))
      )
      let group = ServiceGroup(services: [one.relay], logger: Logger(label: "test"))
      let running = Task { try await group.run() }
      one.post(1...100)
      await group.triggerGracefulShutdown()
      try await running.value
      #expect(try await two.ticks.next(100) == Array(1...100))
      #expect(try await one.relay.first { $0 == .ended } == .ended)
      withExtendedLifetime((one, two)) {}
    }
  }
#endif
