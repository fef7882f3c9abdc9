#if NATS
  import CampanileNATS
  import CampanileRelay
  import Foundation
  import RelayTestSupport
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

    @Test("The command reads a password and a key from files", arguments: NATSServer.programs)
    func secrets(program: String) async throws {
      let server = try NATSServer(
        program,
        """
        authorization { users = [ { user: me, password: pw }
          { nkey: UAB2CB576PHBBPQ5ODORRZ2LYCMWPZGWGCN2KDK7DXOIMZASKUY3RLKK } ] }
        """)
      let file = server.folder.appending(path: "secret")
      func status(_ text: String, _ options: String...) async throws -> Int32 {
        try text.write(to: file, atomically: true, encoding: .utf8)
        return try await CommandProcess(
          ["--nats", server.url, "post", "a", "1"] + options + [file.path]
        ).result().status
      }
      #expect(try await status("pw\n", "--user", "me", "--password") == 0)
      #expect(try await status("other\n", "--user", "me", "--password") == 3)
      #if NKeys
        let seed = "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y"
        #expect(try await status(seed, "--nkey") == 0)
      #endif
      #expect(try await status("", "--nkey") == 2)
    }

    @Test(
      "Options that do not belong together are answered with a sentence",
      arguments: [
        (["--user", "me"], "--user and --password belong together."),
        (["--nkey", "a", "--creds", "b"], "Only one of --user, --nkey and --creds can be given."),
        (
          ["--password", "/none", "--user", "a"], "'/none', which --password names, can't be read."
        ),
      ])
    func mistakes(options: [String], sentence: String) async throws {
      let result = try await CommandProcess(["peers", "--nats", "nats://a"] + options).result()
      #expect(result.status == 2)
      #expect(result.notes == ["campanile: " + sentence])
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
