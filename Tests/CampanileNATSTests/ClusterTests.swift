#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Foundation
  import Logging
  import RelayTestSupport
  import TestSupport
  import Testing

  /// Servers that know each other.
  final class Cluster: Sendable {
    let servers: [NATSServer]

    init(_ program: String, _ count: Int, _ configuration: String = "") throws {
      let routes = (0..<count).map { _ in NATSServer.freePort() }
      servers = try routes.indices.map { index in
        try NATSServer(
          program,
          """
          server_name: s\(index)
          cluster {
            name: c, listen: 127.0.0.1:\(routes[index])
            routes: [\(routes.map { "nats://127.0.0.1:\($0)" }.joined(separator: ", "))]
          }
          \(configuration)
          """)
      }
    }

    var url: String { servers.map(\.url).joined(separator: ",") }

    /// Waits until two relays at different servers hear each other.
    static func connect(_ one: Member, _ two: Member) async throws {
      let heard = Recorder<Int>(timeout: patience)
      let token = two.relay.raw("probe").observe { heard.record($0.bytes.count) }
      try await two.relay.flush()
      let posting = Task {
        while !Task.isCancelled {
          one.relay.post(raw: [1], to: "probe")
          try await one.relay.flush()
        }
      }
      defer { posting.cancel() }
      _ = try await heard.next()
      withExtendedLifetime(token) {}
    }
  }

  @Suite("Clusters of NATS", .withServers, .timeLimit(.minutes(5)))
  struct ClusterTests {
    @Test(
      "A relay that knows one server finds the others when it is killed",
      arguments: NATSServer.programs)
    func gossip(program: String) async throws {
      let cluster = try Cluster(program, 3)
      let one = Member(.nats(cluster.servers[0].url, .pedantic))
      let two = Member(.nats(cluster.servers[1].url, .pedantic))
      try await Cluster.connect(one, two)
      // A server tells its clients of another a moment after it is connected to it.
      try await Cluster.connect(two, one)
      cluster.servers[0].kill()
      try await Cluster.connect(one, two)
      one.post([1])
      #expect(try await two.ticks.next() == 1)
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "R7 A server that says that it ends is left before, and what it misses is counted",
      arguments: NATSServer.programs)
    func lameDuck(program: String) async throws {
      let cluster = try Cluster(
        program, 2, "lame_duck_duration: \"60s\"\nlame_duck_grace_period: \"50s\"")
      let servers = cluster.servers
      let lines = CampanileTesting.Recorder<String>(timeout: patience)
      let logger = Logger(label: "test") { _ in KeepingHandler(lines: lines) }
      // Both know both servers; the one who listens is at the server that ends.
      let one = Member(.nats(servers[1].url, .pedantic))
      let two = Member(.nats(servers[0].url, .logger(logger), .pedantic))
      try await Cluster.connect(one, two)
      let states = Recorder<RelayState>(timeout: patience)
      let token = two.relay.state.observe { states.record($0) }
      one.post(1...10)
      #expect(try await two.ticks.next(10) == Array(1...10))
      servers[0].signal(SIGUSR2)
      // Somebody posts until the server has been left, and then ends.
      let isLeft = Locked(false)
      let posting = Task {
        var number = 10
        while !isLeft.withLock({ $0 }) {
          one.post((number + 1)...(number + 20))
          number += 20
          try await one.relay.flush()
          try await two.relay.flush()
        }
        return number
      }
      while try await !lines.next().contains("another server") {}
      servers[0].kill()
      isLeft.withLock { $0 = true }
      var number = try await posting.value
      // The last one is heard by a relay that is connected.
      try await two.relay.flush()
      number += 1
      one.post([number])
      // The other server may have sent something to this one that came after its last answer.
      var (last, lost) = (10, 0)
      while last < number {
        let next = try await two.ticks.next()
        #expect(next > last)
        lost += next - last - 1
        last = next
      }
      let losses = two.events.values.filter { $0.kind == .lost }
      #expect(losses.compactMap(\.count).reduce(0, +) == lost)
      #expect(states.values.isEmpty)
      withExtendedLifetime((one, two, token)) {}
    }

    /// The server that leads a stream, at present.
    private func leader(_ relay: Relay) async throws -> Int? {
      struct Info: Decodable {
        struct Cluster: Decodable { var leader: String? }
        var cluster: Cluster?
      }
      let bytes = try? await relay.request(
        raw: [], to: "$JS.API.STREAM.INFO.S", within: .seconds(5))
      let info = try bytes.map { try JSONDecoder().decode(Info.self, from: Data($0)) }
      return info?.cluster?.leader.flatMap { $0.last?.wholeNumberValue }
    }

    @Test(
      "R4 The leader of three is killed again and again, and nothing stored is lost",
      arguments: NATSServer.programs, ["two", nil])
    func leaderKilled(program: String, name: String?) async throws {
      let cluster = try Cluster(program, 3, "jetstream { store_dir: \"FOLDER/js\" }")
      let transport = { (name: String?) in
        Relay.Transport.nats(
          cluster.url, .durable("S", creating: ["clock.>"], replicas: 3, as: name), .pedantic)
      }
      let (one, two) = try await connected(
        Member(transport(nil), carrying: .outward), Member(transport(name), carrying: .inward))
      var last = 0
      for _ in 1...2 {
        one.post((last + 1)...(last + 300))
        last += 300
        try await one.center.postAndWait(Tick(number: last + 1))
        last += 1
        var leading: Int?
        while leading == nil { leading = try await leader(one.relay) }
        one.post((last + 1)...(last + 500))
        last += 500
        cluster.servers[try #require(leading)].kill()
        one.post((last + 1)...(last + 100))
        last += 100
        try await one.relay.flush()
        try cluster.servers[try #require(leading)].start()
      }
      #expect(try await two.hears(last) == Set(1...last))
      withExtendedLifetime((one, two)) {}
    }
  }
#endif
