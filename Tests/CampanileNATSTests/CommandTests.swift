#if NATS
  import CampanileNATS
  import CampanileRelay
  import TestSupport
  import Testing

  @Suite("The command campanile on NATS", .withServers, .timeLimit(.minutes(5)))
  struct CommandTests {
    private func start(_ url: String, _ arguments: String...) throws -> CommandProcess {
      try CommandProcess(["--nats", url] + arguments)
    }

    @Test("One of several servers is enough", arguments: NATSServer.programs)
    func severalServers(program: String) async throws {
      let (server, dead) = (try NATSServer(program), try NATSServer(program))
      dead.kill()
      // Which server is tried first is random.
      for _ in 1...10 {
        let result = try await start("\(dead.url),\(server.url)", "post", "a", "1").result()
        #expect(result.status == 0)
      }
      let none = try await start("\(dead.url),\(dead.url)", "post", "a", "1").result()
      #expect(none.status == 3)
      #expect(none.notes.last == "campanile: There is no NATS server to be had.")
    }

    @Test("peers writes those that answer", arguments: NATSServer.programs)
    func peers(program: String) async throws {
      let server = try NATSServer(program)
      let relays = ["one", "two"].map { Relay(.nats(server.url), name: $0) }
      for relay in relays { try await relay.flush() }
      let found = try await start(server.url, "peers").result().output
      // On a busy machine one may take longer to answer than the second that the command waits.
      #expect(
        !found.isEmpty && Set(found.map { String($0.prefix(3)) }).isSubset(of: ["one", "two"]))
      withExtendedLifetime(relays) {}
    }

    @Test(
      "A message that the server does not take ends post with 1", arguments: NATSServer.programs)
    func unsent(program: String) async throws {
      let server = try NATSServer(
        program,
        #"max_payload: 1000, authorization { users: [{ user: me, password: pw, permissions: { publish: { deny: "secret" } } }] }"#
      )
      let url = "nats://me:pw@127.0.0.1:\(server.port)"
      #expect(try await start(url, "post", "a", "1").result().status == 0)
      let denied = try await start(url, "post", "secret", "1").result()
      #expect(denied.status == 1)
      #expect(denied.notes.first?.hasPrefix("campanile: denied secret") == true)
      let long = "\"" + String(repeating: "a", count: 2_000) + "\""
      let refused = try await start(url, "post", "a", long).result()
      #expect(refused.status == 1)
      #expect(refused.notes.first?.hasPrefix("campanile: refused a: ") == true)
    }
  }
#endif
