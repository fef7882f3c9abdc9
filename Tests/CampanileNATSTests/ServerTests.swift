#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Dispatch
  import Foundation
  import RelayTestSupport
  import TestSupport
  import Testing

  extension Member {
    /// Events of one kind, the first that comes.
    func event(_ kind: RelayEvent.Kind) async throws -> RelayEvent {
      while true {
        let event = try await events.next()
        if event.kind == kind { return event }
      }
    }
  }

  @Suite("What servers of NATS do", .withServers, .timeLimit(.minutes(5)))
  struct ServerTests {
    private func relay(_ server: NATSServer) -> Relay.Transport { .nats(server.url, .pedantic) }

    private func waitFor(
      _ relay: Relay, _ isWanted: @escaping @Sendable (RelayState) -> Bool
    ) async throws {
      let states = Recorder<RelayState>(timeout: patience)
      let token = relay.state.observe(options: .initial) { states.record($0) }
      while try await !isWanted(states.next()) {}
      withExtendedLifetime(token) {}
    }

    @Test(
      "A message that is longer than the server takes is refused, and the next is heard",
      arguments: NATSServer.programs)
    func maxPayload(program: String) async throws {
      let server = try NATSServer(program, "max_payload: 1024")
      let (one, two) = (Member(relay(server)), Member(relay(server)))
      try await two.relay.flush()
      one.relay.post(raw: [UInt8](repeating: 0x20, count: 2_000), to: "clock.tick")
      one.post([1])
      #expect(try await two.ticks.next() == 1)
      let refused = try await one.event(.refused)
      #expect(refused.subject == "clock.tick")
      #expect(refused.reason.contains("1024"))
      let long = await #expect(throws: RelayError.self) {
        try await one.relay.request(
          raw: [UInt8](repeating: 0x20, count: 2_000), to: "double", within: patience)
      }
      #expect(long?.code == .refused && long?.message.contains("1024") == true)
      // The limit is another one after the server has started again.
      server.kill()
      try "max_payload: 4096".write(
        to: server.folder.appending(path: "server.conf"), atomically: true, encoding: .utf8)
      try server.start()
      for member in [one, two] { try await member.relay.flush() }
      let heard = Recorder<Int>(timeout: patience)
      let token = two.relay.raw("long").observe { heard.record($0.bytes.count) }
      try await two.relay.flush()
      one.relay.post(raw: [UInt8](repeating: 0x20, count: 2_000), to: "long")
      #expect(try await heard.next() == 2_000)
      withExtendedLifetime((one, two, token)) {}
    }

    @Test(
      "A name that is too long for a line is refused, and the next message is heard",
      arguments: NATSServer.programs)
    func controlLine(program: String) async throws {
      let server = try NATSServer(program)
      let (one, two) = (Member(relay(server)), Member(relay(server)))
      try await two.relay.flush()
      one.relay.post(raw: [1], to: String(repeating: "a", count: 5_000))
      one.post([1])
      #expect(try await two.ticks.next() == 1)
      #expect(try await one.event(.refused).reason.contains("3072"))
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "What is not permitted is reported, once and for all, and the rest goes on",
      arguments: NATSServer.programs)
    func permissions(program: String) async throws {
      let server = try NATSServer(
        program,
        """
        authorization { users = [
          { user: some, password: pw,
            permissions: { publish: { deny: "secret.out" }, subscribe: { deny: "secret.in" } } }
          { user: all, password: pw }
        ] }
        """)
      let some = Member(.nats(server.url, .user("some", password: "pw"), .pedantic))
      let all = Member(.nats(server.url, .user("all", password: "pw"), .pedantic))
      let heard = Recorder<String>(timeout: patience)
      let tokens = [
        some.relay.raw("secret.in").observe { heard.record($0.subject) },
        all.relay.raw("secret.>").observe { heard.record("all \($0.subject)") },
      ]
      #expect(try await some.event(.denied).subject == "secret.in")
      for member in [some, all] { try await member.relay.flush() }
      some.relay.post(raw: [], to: "secret.out")
      #expect(try await some.event(.denied).subject == "secret.out")
      all.relay.post(raw: [], to: "secret.in")
      some.relay.post(raw: [], to: "secret.other")
      #expect(try await heard.next() == "all secret.other")
      // A server that has started again is not asked again.
      server.kill()
      try server.start()
      for member in [some, all] { try await member.relay.flush() }
      all.post([1])
      #expect(try await some.ticks.next() == 1)
      #expect(some.events.values.count { $0.kind == .denied } == 2)
      withExtendedLifetime((some, all, tokens)) {}
    }

    @Test(
      "A server that is killed and comes back finds the relays, and nothing that waited is lost",
      arguments: NATSServer.programs)
    func killed(program: String) async throws {
      let server = try NATSServer(program)
      let (one, two) = try await connected(Member(relay(server)), Member(relay(server)))
      one.post(1...100)
      #expect(try await two.ticks.next(100) == Array(1...100))
      for round in 1...3 {
        server.kill()
        for member in [one, two] { try await waitFor(member.relay) { $0 != .connected } }
        try server.start()
        // The one who listens is there first.
        try await two.relay.flush()
        one.post((round * 100 + 1)...(round * 100 + 100))
        #expect(try await two.ticks.next(100) == Array((round * 100 + 1)...(round * 100 + 100)))
      }
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "A relay that connects again when it is asked to loses nothing that was posted",
      arguments: NATSServer.programs)
    func reconnecting(program: String) async throws {
      let server = try NATSServer(program)
      let (one, two) = try await connected(Member(relay(server)), Member(relay(server)))
      let states = Recorder<RelayState>(timeout: patience)
      let token = one.relay.state.observe { states.record($0) }
      for round in 0..<3 {
        one.post((round * 200 + 1)...(round * 200 + 100))
        one.relay.reconnect()
        one.post((round * 200 + 101)...(round * 200 + 200))
        #expect(
          try await two.ticks.next(200) == Array((round * 200 + 1)...(round * 200 + 200)))
        while try await states.next() != .connected {}
      }
      // It also hears again.
      try await one.relay.flush()
      two.post([1_000])
      #expect(try await one.ticks.next(601).last == 1_000)
      withExtendedLifetime((one, two, token)) {}
    }

    @Test(
      "A relay moves to another server when it is given one, and loses nothing that was posted",
      arguments: NATSServer.programs)
    func moving(program: String) async throws {
      let (old, new) = (try NATSServer(program), try NATSServer(program))
      let (one, two) = try await connected(Member(relay(old)), Member(relay(new)))
      old.signal(SIGSTOP)
      one.post(1...100)
      try one.relay.reconnect(to: new.url)
      one.post(101...200)
      #expect(try await two.ticks.next(200) == Array(1...200))
      #expect(throws: NATSAddressError.self) { try one.relay.reconnect(to: "http://\(new.url)") }
      try await one.relay.flush()
      two.post([1_000])
      #expect(try await one.ticks.next(201).last == 1_000)
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "A relay that asks is itself asked if no other one answers", arguments: NATSServer.programs)
    func asksItself(program: String) async throws {
      let server = try NATSServer(program)
      let (one, two) = (Member(relay(server)), Member(relay(server)))
      func ask(_ bytes: [UInt8]) async throws -> [UInt8] {
        try await one.relay.request(raw: bytes, to: "double", within: patience)
      }
      let own = one.answerDouble()
      try await one.relay.flush()
      #expect(try await ask([1, 2]) == [1, 2, 1, 2])
      let failure = await #expect(throws: RelayError.self) { try await ask([]) }
      #expect(failure?.code == .failed && failure?.message.contains("nothing") == true)
      let other = two.relay.answer(raw: "double") { _, _ in [9] }
      try await two.relay.flush()
      #expect(try await ask([1]) == [9])
      other.cancel()
      try await two.relay.flush()
      #expect(try await ask([1]) == [1, 1])
      own.cancel()
      try await one.relay.flush()
      let nobody = await #expect(throws: RelayError.self) { try await ask([1]) }
      #expect(nobody?.code == .nobodyAnswers)
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "R1 A flush ends though the server is killed meanwhile, and the order holds",
      arguments: NATSServer.programs)
    func flushedOverRestart(program: String) async throws {
      let server = try NATSServer(program)
      let (one, two) = try await connected(Member(relay(server)), Member(relay(server)))
      server.signal(SIGSTOP)
      one.post(1...100)
      async let flushed: Void = one.relay.flush()
      server.kill()
      for member in [one, two] { try await waitFor(member.relay) { $0 != .connected } }
      try server.start()
      try await flushed
      try await two.relay.flush()
      // What `two` missed while it was away is counted as soon as something comes.
      one.post([101])
      while try await two.ticks.next() != 101 {}
      let lost = two.events.values.filter { $0.kind == .lost }.compactMap(\.count).reduce(0, +)
      let heard = two.ticks.values
      #expect(heard == heard.sorted())
      // The first message tells nothing of those before it.
      #expect(lost + heard.count <= 101)
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "R6 R7 Without a connection the outbox is bounded, and what it drops is counted",
      arguments: NATSServer.programs)
    func bounded(program: String) async throws {
      let server = try NATSServer(program)
      let (one, two) = try await connected(
        Member(relay(server), buffering: .newest(bytes: 65_536)), Member(relay(server)))
      one.post([0])
      #expect(try await two.ticks.next() == 0)
      server.kill()
      try await waitFor(one.relay) { $0 != .connected }
      for number in 1...2_000 {
        one.post([number])
        // So that what is posted is encoded, and waits for the server.
        one.relay.link.queue.sync {}
      }
      try server.start()
      try await two.relay.flush()
      try await one.relay.flush();
      one.post([2_001])
      var heard = [0]
      while heard.last != 2_001 { heard.append(try await two.ticks.next()) }
      func lost(_ member: Member) -> Int {
        member.events.values.filter { $0.kind == .lost }.compactMap(\.count).reduce(0, +)
      }
      // What was sent before the one who listens was there again, it has missed.
      #expect(heard.count + lost(one) + lost(two) == 2_002)
      #expect(lost(one) > 0)
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "R7 What a reader loses is counted to the last message, though nothing is posted later",
      arguments: NATSServer.programs, ["it is too slow", "its server is killed"])
    func lastMessages(program: String, reason: String) async throws {
      let isKilled = reason.contains("killed")
      let server = try NATSServer(
        program,
        isKilled ? "" : "max_payload: 131072\nmax_pending: 1000000\nwrite_deadline: \"1s\"")
      let (one, two) = (Member(relay(server)), Member(relay(server)))
      let gate = Gate()
      let heard = Recorder<Int>(timeout: patience)
      let token = two.relay.raw("big").observe { payload in
        heard.record(Int(payload.version))
        if payload.version == 1 { gate.pass() }
      }
      for member in [one, two] { try await member.relay.flush() }
      let bytes = [UInt8](repeating: 7, count: 65_536)
      one.relay.post(raw: bytes, to: "big", version: 1)
      #expect(try await heard.next() == 1)
      for number in 2...400 {
        one.relay.post(raw: bytes, to: "big", version: number)
        if number % 20 == 0 { try await one.relay.flush() }
      }
      try await one.relay.flush()
      if isKilled {
        server.kill()
        try server.start()
      }
      gate.open()
      var lost = 0
      while heard.values.count + lost < 400 { lost += try await two.event(.lost).count ?? 0 }
      #expect(lost > 0)
      #expect(heard.values.count + lost == 400)
      withExtendedLifetime((one, two, token)) {}
    }
  }
#endif
