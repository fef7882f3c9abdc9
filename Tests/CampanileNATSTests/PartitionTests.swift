#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Foundation
  import RelayTestSupport
  import TestSupport
  import Testing

  /// Cuts processes off from a port of this host, by the filter of the kernel.
  ///
  /// `scripts/nats-partition` runs the tests in a network namespace of their own, where nobody else is
  /// cut off, and says so in `CAMPANILE_NATS_PARTITION`.
  private enum Partition {
    static let isPossible =
      ProcessInfo.processInfo.environment["CAMPANILE_NATS_PARTITION"] != nil

    static func cut(_ port: Int) throws { try filter("-A", port) }
    static func mend(_ port: Int) throws { try filter("-D", port) }

    private static func filter(_ action: String, _ port: Int) throws {
      for side in ["--dport", "--sport"] {
        let process = Process()
        let end = ProgramEnd(of: process)
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
          "iptables", "-w", action, "INPUT", "-p", "tcp", side, "\(port)", "-j", "DROP",
        ]
        try process.start()
        end.wait()
        if process.terminationStatus != 0 {
          throw ServerFailure(description: "iptables \(action) fails.")
        }
      }
    }
  }

  @Suite(
    "Servers of NATS that are cut off", .timeLimit(.minutes(5)),
    .enabled(if: Partition.isPossible, "scripts/nats-partition makes a network to be cut"))
  struct PartitionTests {
    @Test(
      "R4 Six seconds without a network lose nothing that is stored",
      arguments: NATSServer.programs, ["two", nil])
    func stored(program: String, name: String?) async throws {
      let server = try NATSServer(program, "jetstream { store_dir: \"FOLDER/js\" }")
      let bus = { (name: String?) in
        Relay.Transport.nats(server.url, .durable("S", creating: ["clock.>"], as: name), .pedantic)
      }
      let (one, two) = try await connected(
        Member(bus(nil), carrying: .outward), Member(bus(name), carrying: .inward))
      one.post(1...500)
      try Partition.cut(server.port)
      one.post(501...1_000)
      try await Task.sleep(for: .seconds(6))
      try Partition.mend(server.port)
      one.post(1_001...1_500)
      try await one.relay.flush()
      #expect(try await two.hears(1_500, isOnce: name != nil) == Set(1...1_500))
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "R7 Six seconds without a network: what is not stored arrives, or is counted",
      arguments: NATSServer.programs)
    func counted(program: String) async throws {
      let server = try NATSServer(program)
      let (one, two) = try await connected(
        Member(.nats(server.url, .pedantic), carrying: .outward),
        Member(.nats(server.url, .pedantic), carrying: .inward))
      one.post(1...500)
      #expect(try await two.ticks.next(500) == Array(1...500))
      try Partition.cut(server.port)
      one.post(501...1_000)
      try await Task.sleep(for: .seconds(6))
      try Partition.mend(server.port)
      for member in [one, two] { try await member.relay.flush() }
      one.post([1_001])
      var heard = Array(1...500)
      while heard.last != 1_001 { heard.append(try await two.ticks.next()) }
      let lost = two.events.values.filter { $0.kind == .lost }.compactMap(\.count).reduce(0, +)
      #expect(heard == heard.sorted())
      #expect(heard.count + lost == 1_001)
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "A server that answers nothing any more is left after thirty seconds",
      arguments: NATSServer.programs)
    func silence(program: String) async throws {
      let servers = [try NATSServer(program), try NATSServer(program)]
      let urls = servers.map(\.url)
      let one = Member(.nats(urls.joined(separator: ","), .pedantic), carrying: .outward)
      let others = urls.map { Member(.nats($0, .pedantic), carrying: .inward) }
      for member in [one] + others { try await member.relay.flush() }
      let heard = Recorder<Int>(timeout: patience)
      let tokens = others.enumerated().map { index, member in
        member.center.observe(Tick.self) { heard.record($0.number * 10 + index) }
      }
      one.post([2])
      let index = try await heard.next() % 10
      try Partition.cut(servers[index].port)
      one.post([3])
      #expect(try await heard.next() == 30 + 1 - index)
      try Partition.mend(servers[index].port)
      withExtendedLifetime((one, others, tokens)) {}
    }
  }
#endif
