#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Foundation
  import RelayTestSupport
  import TestSupport
  import Testing

  /// A message whose encoding waits at the gate of its test, and is recorded then.
  private struct Held: RelayedMessage {
    static let relaySubject: RelaySubject<Self> = "held"
    static let tests = Locked<[UInt32: (gate: Gate, encodings: Recorder<UInt32>)]>([:])
    let test: UInt32

    init(test: UInt32) { self.test = test }

    func relayPayload() -> [UInt8] {
      let known = Self.tests.withLock { $0[test] }
      known?.gate.pass()
      known?.encodings.record(test)
      return [UInt8](repeating: 0, count: 65_536)
    }

    init(relayPayload: [UInt8], version: Int) { test = 0 }
  }

  @Suite("What a poster waits for on NATS", .withServers, .timeLimit(.minutes(5)))
  struct PosterTests {
    /// What the connection is while messages are posted.
    enum Connection: CaseIterable {
      case there, notRead, notThere
    }

    @Test(
      "R5 A post returns before it is encoded, and though nothing can be written",
      arguments: NATSServer.programs, Connection.allCases)
    func returns(program: String, connection: Connection) async throws {
      let server = try NATSServer(program)
      let one = Member(.nats(server.url, .pedantic))
      one.relay.carry(Held.self, in: one.center)
      try await one.relay.flush()
      switch connection {
      case .there: break
      case .notRead: server.signal(SIGSTOP)
      case .notThere:
        server.kill()
        _ = try await one.relay.first { $0 != .connected }
      }
      let (test, gate) = (UInt32.random(in: 1 ... .max), Gate())
      let encodings = Recorder<UInt32>(timeout: patience)
      Held.tests.withLock { $0[test] = (gate, encodings) }
      // More than a connection and the window take, and less than the buffer holds.
      for _ in 1...100 { one.center.post(Held(test: test)) }
      #expect(gate.arrivalCount <= 1)
      #expect(encodings.values.isEmpty)
      gate.open()
      async let encoded: Void = one.relay.flush()
      _ = try await encodings.next(100)
      // What was encoded waits for the connection, and a post does not.
      one.center.post(Held(test: test))
      switch connection {
      case .there: break
      case .notRead: server.signal(SIGCONT)
      case .notThere: try server.start()
      }
      try await encoded
      try await one.relay.flush()
      // However often they were sent.
      #expect(encodings.values.count == 101)
      #expect(!one.events.values.contains { $0.kind == .lost })
    }
  }
#endif
