#if NATS
  import CampanileNATS
  import CampanileRelay
  import Foundation
  import RelayTestSupport
  import TestSupport
  import Testing

  /// How often each server is started again; 0 if nothing is to be measured.
  private let restarts =
    ProcessInfo.processInfo.environment["CAMPANILE_NATS_RESTARTS"].flatMap { Int($0) } ?? 0

  /// Measures, if `CAMPANILE_NATS_RESTARTS` says how often a server is started again.
  @Suite(
    "Restarts of a server of NATS, measured", .withServers, .serialized, .timeLimit(.minutes(5)),
    .enabled(if: restarts > 0, "CAMPANILE_NATS_RESTARTS says how many there are"))
  struct RestartTests {
    @Test(
      "R4 A receiver with a name hears within 2.5 seconds after its server was down for one",
      arguments: NATSServer.programs, [SIGTERM, SIGKILL])
    func silence(program: String, signal: Int32) async throws {
      let server = try NATSServer(program, "jetstream { store_dir: \"FOLDER/js\" }")
      let bus = { (name: String?) in
        Relay.Transport.nats(server.url, .durable("S", creating: ["clock.>"], as: name))
      }
      let (one, two) = try await connected(
        Member(bus(nil), carrying: .outward), Member(bus("two"), carrying: .inward))
      var times: [Duration] = []
      for number in 1...restarts {
        server.end(signal)
        one.post([number])
        try await Task.sleep(for: .seconds(1))
        try server.start()
        let start = ContinuousClock.now
        #expect(try await two.ticks.next() == number)
        times.append(.now - start)
        try await one.relay.flush()
      }
      let longest = try #require(times.max())
      print("\(program), signal \(signal): \(times.map { $0 / .seconds(1) })")
      #expect(longest < .seconds(2.5))
      withExtendedLifetime((one, two)) {}
    }
  }
#endif
