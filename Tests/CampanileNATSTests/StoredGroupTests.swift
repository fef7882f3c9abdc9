#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Foundation
  import RelayTestSupport
  import TestSupport
  import Testing

  @Suite("One of several from a stream", .withServers, .timeLimit(.minutes(5)))
  struct StoredGroupTests {
    private func server(_ program: String) throws -> NATSServer {
      try NATSServer(program, "jetstream { store_dir: \"FOLDER/js\" }")
    }

    private func bus(_ server: NATSServer) -> Relay.Transport {
      .nats(server.url, .durable("S", creating: ["clock.>"]), .pedantic)
    }

    /// A member of the group `workers`, which tells a recorder what it hears.
    private func worker(
      _ bus: Relay.Transport, _ all: Recorder<Int>? = nil
    ) async throws -> (member: Member, token: ObservationToken) {
      let member = Member(bus, "worker", carrying: nil)
      let token = member.center.observe(Tick.self) { all?.record($0.number) }
      member.relay.carry(Tick.self, in: member.center, .inward, .oneOf("workers"))
      try await member.relay.flush()
      return (member, token)
    }

    @Test(
      "R4 A stream stores what a group is to get while nobody of it is there",
      arguments: NATSServer.programs)
    func stored(program: String) async throws {
      let server = try server(program)
      let bus = bus(server)
      let one = Member(bus, carrying: .outward)
      try await one.relay.flush()
      try await worker(bus).member.relay.drain()
      one.post(1...50)
      try await one.relay.flush()
      let all = Recorder<Int>(timeout: patience)
      let next = try await worker(bus, all)
      #expect(try await all.next(50) == Array(1...50))
      withExtendedLifetime((one, next)) {}
    }

    @Test(
      "R4 What a member of a group has not taken when it dies, another one gets from the stream",
      arguments: NATSServer.programs)
    func killed(program: String) async throws {
      let server = try server(program)
      let bus = bus(server)
      let one = Member(bus, carrying: .outward)
      try await one.relay.flush()
      let first = Member(bus, carrying: nil)
      let queue = DispatchQueue(label: "observers")
      queue.suspend()
      defer { queue.resume() }
      let token = first.center.observe(Tick.self, on: .queue(queue)) { _ in }
      first.relay.carry(Tick.self, in: first.center, .inward, .oneOf("workers"))
      try await first.relay.flush()
      one.post(1...30)
      #expect(try await first.ticks.next(3) == [1, 2, 3])
      // The process ends, as far as the server knows.
      first.relay.cancel()
      let all = Recorder<Int>(timeout: patience)
      let second = try await worker(bus, all)
      var heard: Set<Int> = []
      while heard.count < 30 { heard.insert(try await all.next()) }
      withExtendedLifetime((one, first, second, token)) {}
    }

    @Test("A request is answered by one of those who answer", arguments: NATSServer.programs)
    func requests(program: String) async throws {
      let server = try server(program)
      let bus = bus(server)
      let asked = Recorder<Int>(timeout: patience)
      let members = (0..<3).map { Member(bus, "\($0)") }
      let tokens = members.enumerated().map { index, member in
        member.relay.answer(raw: "who") { _, _ in
          asked.record(index)
          return [UInt8(index)]
        }
      }
      let one = Member(bus)
      for member in members + [one] { try await member.relay.flush() }
      var answers: [Int] = []
      for _ in 1...60 {
        answers.append(Int(try await one.relay.request(raw: [], to: "who", within: patience)[0]))
      }
      #expect(asked.values == answers)
      #expect(Set(answers).count > 1)
      withExtendedLifetime((members, tokens)) {}
    }
  }
#endif
