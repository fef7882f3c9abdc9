#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Foundation
  import RelayTestSupport
  import TestSupport
  import Testing

  extension Member {
    /// Hears until so many different messages have come.
    ///
    /// Some may come twice (R4): a new leader may not have the end of the stream at first.
    ///
    /// - Parameter isOnce: Whether none may come twice.
    func hears(_ count: Int, isOnce: Bool = false) async throws -> Set<Int> {
      var heard: Set<Int> = []
      while heard.count < count {
        let number = try await ticks.next()
        let isNew = heard.insert(number).inserted
        if isOnce { #expect(isNew, "\(number) is heard twice") }
      }
      return heard
    }
  }

  @Suite("Messages that a stream stores", .withServers, .timeLimit(.minutes(5)))
  struct DurableTests {
    private func server(_ program: String) throws -> NATSServer {
      try NATSServer(program, "jetstream { store_dir: \"FOLDER/js\" }")
    }

    private func bus(_ server: NATSServer, as name: String? = nil) -> Relay.Transport {
      .nats(server.url, .durable("S", creating: ["clock.>"], as: name), .pedantic)
    }

    /// How many messages the stream has.
    private func count(_ relay: Relay) async throws -> Int {
      struct Info: Decodable {
        struct State: Decodable { var messages: Int }
        var state: State
      }
      let bytes = try await relay.request(
        raw: [], to: "$JS.API.STREAM.INFO.S", within: patience)
      return try JSONDecoder().decode(Info.self, from: Data(bytes)).state.messages
    }

    @Test(
      "A post to a stream that is not permitted is reported, and what is behind it goes on",
      arguments: NATSServer.programs)
    func notPermitted(program: String) async throws {
      let server = try NATSServer(
        program,
        """
        jetstream { store_dir: "FOLDER/js" }
        authorization { users = [
          { user: some, password: pw, permissions: { publish: { deny: "clock.secret" } } }
          { user: all, password: pw }
        ] }
        """)
      let stream = NATSOption.durable("S", creating: ["clock.>"])
      let all = Member(.nats(server.url, stream, .user("all", password: "pw")))
      let some = Member(.nats(server.url, stream, .user("some", password: "pw")))
      for member in [all, some] { try await member.relay.flush() }
      some.relay.post(raw: [], to: "clock.secret")
      some.post(1...3)
      try await some.relay.flush()
      #expect(try await some.event(.denied).subject == "clock.secret")
      #expect(try await all.ticks.next(3) == [1, 2, 3])
      withExtendedLifetime((some, all)) {}
    }

    @Test(
      "R2 R4 What is posted is stored once, and heard once, in order",
      arguments: NATSServer.programs, ["a", nil])
    func order(program: String, name: String?) async throws {
      let server = try server(program)
      let (one, two) = try await connected(Member(bus(server)), Member(bus(server, as: name)))
      one.post(1...2_000)
      #expect(try await two.ticks.next(2_000) == Array(1...2_000))
      try await one.relay.flush()
      #expect(try await count(one.relay) == 2_000)
      #expect(one.ticks.values == Array(1...2_000))
      withExtendedLifetime((one, two)) {}
    }

    @Test("R10 postAndWait returns when the stream has the message", arguments: NATSServer.programs)
    func postAndWait(program: String) async throws {
      let server = try server(program)
      let one = Member(bus(server), carrying: .outward)
      for number in 1...20 {
        try await one.center.postAndWait(Tick(number: number))
        #expect(try await count(one.relay) == number)
      }
      withExtendedLifetime(one) {}
    }

    @Test(
      "R4 A receiver with a name hears what was posted while it was not there",
      arguments: NATSServer.programs, [true, false])
    func resumes(program: String, drains: Bool) async throws {
      let server = try server(program)
      let one = Member(bus(server), carrying: .outward)
      var two: Member? = Member(bus(server, as: "two"), carrying: .inward)
      for member in [one, two] { try await member?.relay.flush() }
      one.post(1...100)
      #expect(try await two?.ticks.next(100) == Array(1...100))
      // So that all that was heard has been acknowledged.
      if drains { await two?.relay.drain() }
      // They stay: what arrives while the relay ends is heard by them.
      let (early, tokens) = try (#require(two).ticks, #require(two).tokens)
      two = nil
      one.post(101...200)
      try await one.relay.flush()
      two = Member(bus(server, as: "two"), carrying: .inward)
      var heard: [Int] = []
      // What had not been acknowledged comes again, perhaps behind the others.
      while !Set(early.values + heard).isSuperset(of: 101...200) {
        heard.append(try #require(await two?.ticks.next()))
      }
      if drains { #expect(heard == Array(101...200)) }
      withExtendedLifetime((one, two, tokens)) {}
    }

    @Test(
      "R4 A receiver with a name that wants something else as well misses nothing",
      arguments: NATSServer.programs)
    func wantsMore(program: String) async throws {
      let server = try server(program)
      let (one, two) = try await connected(
        Member(bus(server), carrying: .outward), Member(bus(server, as: "two"), carrying: .inward))
      let token = two.relay.raw("clock.>").observe { _ in }
      try await two.relay.flush()
      one.post(1...10)
      try await one.relay.flush()
      #expect(try await two.ticks.next(10) == Array(1...10))
      withExtendedLifetime((one, two, token)) {}
    }

    /// Posts ten messages, which the observers on the relay's queue hear.
    private func post(_ one: Member, _ two: Member) async throws {
      for member in [one, two] { try await member.relay.flush() }
      one.post(1...10)
      #expect(try await two.ticks.next(10) == Array(1...10))
    }

    @Test(
      "R4 What waits on a queue when a receiver with a name ends comes again",
      arguments: NATSServer.programs)
    func waitsOnQueue(program: String) async throws {
      let server = try server(program)
      let (one, two) = (Member(bus(server), carrying: .outward), Member(bus(server, as: "two")))
      let queue = DispatchQueue(label: "observers")
      queue.suspend()
      defer { queue.resume() }
      let token = two.center.observe(Tick.self, on: .queue(queue)) { _ in }
      try await post(one, two)
      // The process ends, as far as the server knows.
      two.relay.cancel()
      let three = Member(bus(server, as: "two"), carrying: .inward)
      #expect(try await three.ticks.next(10).sorted() == Array(1...10))
      await three.relay.drain()
      one.post([11])
      try await one.relay.flush()
      // All that was heard has been acknowledged.
      let four = Member(bus(server, as: "two"), carrying: .inward)
      #expect(try await four.ticks.next() == 11)
      withExtendedLifetime((one, two, three, four, token)) {}
    }

    @Test(
      "R4 Large messages that a receiver with a name did not acknowledge come again",
      arguments: NATSServer.programs)
    func largeAgain(program: String) async throws {
      let server = try server(program)
      let one = Member(bus(server), carrying: nil)
      let two = Member(bus(server, as: "two"), carrying: nil)
      let queue = DispatchQueue(label: "observers")
      queue.suspend()
      defer { queue.resume() }
      let came = Recorder<UInt8>(timeout: patience)
      let heard = Recorder<UInt8>(timeout: patience)
      let waiting = two.relay.raw("clock.>").observe(on: .queue(queue)) { _ in }
      let coming = two.relay.raw("clock.>").observe { came.record($0.bytes[0]) }
      for member in [one, two] { try await member.relay.flush() }
      let numbers: [UInt8] = [1, 2, 3, 4]
      for number in numbers {
        one.relay.post(raw: [UInt8](repeating: number, count: 700_000), to: "clock.large")
      }
      #expect(try await came.next(4) == numbers)
      two.relay.cancel()
      let three = Member(bus(server, as: "two"), carrying: nil)
      let hearing = three.relay.raw("clock.>").observe { heard.record($0.bytes[0]) }
      #expect(try await heard.next(4).sorted() == numbers)
      withExtendedLifetime((one, two, three, waiting, coming, hearing)) {}
    }

    @Test(
      "R4 A receiver with a name that is drained has acknowledged what runs on a queue",
      arguments: NATSServer.programs)
    func drainsQueue(program: String) async throws {
      let server = try server(program)
      let (one, two) = (Member(bus(server), carrying: .outward), Member(bus(server, as: "two")))
      let queue = DispatchQueue(label: "observers")
      queue.suspend()
      var isSuspended = true
      defer { if isSuspended { queue.resume() } }
      let late = Recorder<Int>(timeout: patience)
      let token = two.center.observe(Tick.self, on: .queue(queue)) { late.record($0.number) }
      let answering = two.relay.answer(raw: "ask") { _, _ in [] }
      try await post(one, two)
      let draining = Task { await two.relay.drain() }
      // Whoever drains answers nothing more.
      while (try? await one.relay.request(raw: [], to: "ask", within: .seconds(1))) != nil {}
      // That takes longer than a drain that does not wait.
      for _ in 1...100 { try await one.relay.flush() }
      #expect(two.relay.state.value == .connected)
      queue.resume()
      isSuspended = false
      await draining.value
      #expect(late.values == Array(1...10))
      one.post([11])
      try await one.relay.flush()
      let three = Member(bus(server, as: "two"), carrying: .inward)
      #expect(try await three.ticks.next() == 11)
      withExtendedLifetime((one, two, three, token, answering)) {}
    }

    @Test("A receiver with a name can be drained by its observer", arguments: NATSServer.programs)
    func drainedByObserver(program: String) async throws {
      let server = try server(program)
      let (one, two) = (Member(bus(server), carrying: .outward), Member(bus(server, as: "two")))
      let token = two.center.messages(of: Tick.self).observeAsync { [relay = two.relay] tick in
        if tick.number == 10 { await relay.drain() }
      }
      let states = Recorder<RelayState>(timeout: patience)
      let state = two.relay.state.observe { states.record($0) }
      try await post(one, two)
      while try await states.next() != .ended {}
      withExtendedLifetime((one, two, token, state)) {}
    }

    @Test(
      "R4 A server that is killed again and again loses nothing that was posted",
      arguments: NATSServer.programs, ["two", nil])
    func killed(program: String, name: String?) async throws {
      let server = try server(program)
      let (one, two) = try await connected(
        Member(bus(server), carrying: .outward), Member(bus(server, as: name), carrying: .inward))
      var last = 0
      for _ in 1...3 {
        for _ in 1...20 {
          one.post((last + 1)...(last + 49))
          last += 50
          try await one.center.postAndWait(Tick(number: last))
        }
        // Nobody knows which of these the server has when it is killed.
        one.post((last + 1)...(last + 500))
        last += 500
        server.kill()
        one.post((last + 1)...(last + 50))
        last += 50
        try server.start()
      }
      try await one.relay.flush()
      #expect(try await two.hears(last, isOnce: name != nil) == Set(1...last))
      #expect(try await count(one.relay) == last)
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "A stream that is not there is reported, and so is a name that none stores",
      arguments: NATSServer.programs)
    func missing(program: String) async throws {
      let server = try server(program)
      let one = Member(.nats(server.url, .durable("none"), .pedantic))
      #expect(try await one.event(.denied).reason.contains("\"none\""))
      let plain = try NATSServer(program)
      let two = Member(bus(plain))
      #expect(try await two.event(.denied).reason.contains("\"S\""))
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "What is carried later is heard from then on",
      arguments: NATSServer.programs, ["two", nil])
    func carriedLater(program: String, name: String?) async throws {
      let server = try server(program)
      let (one, two) = (Member(bus(server)), Member(bus(server, as: name), carrying: .inward))
      one.relay.carry(Tock.self, in: one.center, .outward)
      for member in [one, two] { try await member.relay.flush() }
      for number in 1...50 { one.center.post(Tock(number: number)) }
      one.post(1...50)
      try await one.relay.flush()
      let tocks = Recorder<Int>(timeout: patience)
      let token = two.center.observe(Tock.self) { tocks.record($0.number) }
      two.relay.carry(Tock.self, in: two.center, .inward)
      try await two.relay.flush()
      one.center.post(Tock(number: 51))
      #expect(try await tocks.next() == 51)
      // What was carried before is heard without a gap.
      one.post(51...60)
      #expect(try await two.ticks.next(60) == Array(1...60))
      withExtendedLifetime((one, two, token)) {}
    }

    @Test(
      "R7 A restart of the server is no deletion of a consumer, and a deletion meanwhile is reported",
      arguments: NATSServer.programs, [SIGTERM, SIGKILL])
    func restarted(program: String, signal: Int32) async throws {
      let server = try server(program)
      let (one, two) = try await connected(
        Member(bus(server, as: "one"), carrying: .inward), Member(bus(server), carrying: .outward))
      func denials() -> [RelayEvent] { one.events.values.filter { $0.kind == .denied } }
      two.post(1...3)
      #expect(try await one.ticks.next(3) == [1, 2, 3])
      server.end(signal)
      if signal == SIGKILL {
        // The server may not have stored yet how far the consumer was.
        try? FileManager.default.removeItem(
          at: server.folder.appending(path: "js/jetstream/$G/streams/S/obs/one/o.dat"))
      }
      try server.start()
      try await one.relay.flush()
      #expect(denials().isEmpty, "\(denials())")
      two.post([4])
      #expect(try await one.ticks.next() == 4)
      try one.relay.reconnect(to: "nats://127.0.0.1:1")
      while one.relay.state.value == .connected { try await Task.sleep(for: .milliseconds(1)) }
      _ = try await two.relay.request(
        raw: [], to: "$JS.API.CONSUMER.DELETE.S.one", within: patience)
      two.post([5])
      try await two.relay.flush()
      try one.relay.reconnect(to: server.url)
      try await one.relay.flush()
      #expect(denials().count == 1)
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "A stream that somebody deletes is created again", arguments: NATSServer.programs,
      ["two", nil])
    func deleted(program: String, name: String?) async throws {
      let server = try server(program)
      let one = Member(bus(server), carrying: .outward)
      var two = Member(bus(server, as: name), carrying: .inward)
      for member in [one, two] { try await member.relay.flush() }
      one.post(1...10)
      #expect(try await two.ticks.next(10) == Array(1...10))
      for relays in [[one, two], [one]] {
        if relays.count == 1 { two.relay.cancel() }
        _ = try await one.relay.request(
          raw: [], to: "$JS.API.STREAM.DELETE.S", within: patience)
        one.post(11...20)
        try await one.relay.flush()
        #expect(try await count(one.relay) == 10)
        if relays.count == 1 { continue }
        #expect(try await two.ticks.next(10) == Array(11...20))
        // The next process finds the consumer as it is.
        await two.relay.drain()
        two = Member(bus(server, as: name), carrying: .inward)
        try await two.relay.flush()
        one.post([21])
        #expect(try await two.ticks.next() == 21)
      }
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "A server that permits pulls of ten messages sends all, ten at a time",
      arguments: NATSServer.programs, ["a", nil])
    func smallPulls(program: String, name: String?) async throws {
      let server = try NATSServer(
        program, "jetstream { store_dir: \"FOLDER/js\", limits { max_request_batch: 10 } }")
      let (one, two) = try await connected(Member(bus(server)), Member(bus(server, as: name)))
      one.post(1...200)
      #expect(try await two.ticks.next(200) == Array(1...200))
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "R1 A relay that would create a stream otherwise uses the one that is there",
      arguments: NATSServer.programs)
    func otherReplicas(program: String) async throws {
      let server = try server(program)
      let one = Member(bus(server), carrying: .outward)
      try await one.relay.flush()
      // A server that is alone has no replicas.
      let two = Member(
        .nats(server.url, .durable("S", creating: ["clock.>"], replicas: 3, as: "b"), .pedantic),
        carrying: .inward)
      try await two.relay.flush()
      one.post(1...10)
      #expect(try await two.ticks.next(10) == Array(1...10))
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "A server that permits ten unacknowledged messages sends all to a receiver with a name",
      arguments: NATSServer.programs)
    func fewUnacknowledged(program: String) async throws {
      let server = try NATSServer(
        program, "jetstream { store_dir: \"FOLDER/js\", limits { max_ack_pending: 10 } }")
      let (one, two) = try await connected(Member(bus(server)), Member(bus(server, as: "a")))
      one.post(1...200)
      #expect(try await two.ticks.next(200) == Array(1...200))
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "A message whose name is full is refused, and messages of other names are stored",
      arguments: NATSServer.programs)
    func fullName(program: String) async throws {
      let server = try server(program)
      let one = Member(.nats(server.url, .durable("S"), .pedantic), carrying: nil)
      let stream = """
        {"name":"S","subjects":["clock.>"],"retention":"limits","storage":"file",
         "num_replicas":1,"discard":"new","discard_new_per_subject":true,"max_msgs_per_subject":1}
        """
      _ = try await one.relay.request(
        raw: Array(stream.utf8), to: "$JS.API.STREAM.CREATE.S", within: patience)
      for subject in ["clock.a", "clock.a", "clock.b"] { one.relay.post(raw: [1], to: subject) }
      try await one.relay.flush()
      let event = try await one.event(.refused)
      #expect(event.subject == "clock.a")
      #expect(event.reason.contains("per subject"))
      #expect(try await count(one.relay) == 2)
      withExtendedLifetime(one) {}
    }

    /// Creates a stream for ticks.
    private func createStream(_ relay: Relay, _ settings: String) async throws {
      let stream = #"{"name":"S","subjects":["clock.>"],"num_replicas":1,\#(settings)}"#
      _ = try await relay.request(
        raw: Array(stream.utf8), to: "$JS.API.STREAM.CREATE.S", within: patience)
    }

    @Test(
      "R8 Who has sent a stored message is named, and is no peer", arguments: NATSServer.programs)
    func storedSender(program: String) async throws {
      let server = try server(program)
      let senders = Recorder<String>(timeout: patience)
      func receiver() -> (relay: Relay, token: ObservationToken) {
        let relay = Relay(bus(server, as: "two"))
        return (relay, relay.raw("clock.>").observe { senders.record($0.sender.name) })
      }
      var two = receiver()
      try await two.relay.flush()
      await two.relay.drain()
      for name in ["one", "other"] {
        let one = Member(bus(server), name, carrying: .outward)
        one.post(1...2)
        try await one.relay.flush()
        await one.relay.drain()
      }
      two = receiver()
      #expect(try await senders.next(4) == ["one", "one", "other", "other"])
      #expect(two.relay.peers.value.isEmpty)
      withExtendedLifetime(two) {}
    }

    @Test(
      "A paused consumer is reported, and heard when the pause ends",
      arguments: NATSServer.programs(since: 11))
    func paused(program: String) async throws {
      let server = try server(program)
      let one = Member(bus(server), carrying: .outward)
      try await one.relay.flush()
      func ask(_ request: String, _ json: String) async throws -> String {
        let answer = try await one.relay.request(
          raw: Array(json.utf8), to: "$JS.API.CONSUMER.\(request).S.two", within: patience)
        return String(decoding: answer, as: UTF8.self)
      }
      let consumer = """
        {"stream_name":"S","config":{"name":"two","durable_name":"two","deliver_policy":"new",
         "ack_policy":"explicit","pause_until":"2999-01-01T00:00:00Z"}}
        """
      #expect(try await ask("CREATE", consumer).contains(#""paused":true"#))
      let two = Member(bus(server, as: "two"), carrying: .inward)
      #expect(try await two.event(.denied).reason.contains("paused"))
      one.post(1...10)
      try await one.relay.flush()
      _ = try await ask("PAUSE", "{}")
      #expect(try await two.ticks.next(10) == Array(1...10))
      withExtendedLifetime((one, two)) {}
    }

    @Test(
      "A stream that acknowledges nothing is reported, and posts to it wait",
      arguments: NATSServer.programs)
    func noAcknowledgments(program: String) async throws {
      let server = try server(program)
      let one = Member(.nats(server.url, .durable("S"), .pedantic), carrying: .outward)
      try await createStream(one.relay, #""no_ack":true"#)
      one.post(1...10)
      #expect(try await one.event(.denied).reason.contains("no_ack"))
      withExtendedLifetime(one) {}
    }

    @Test("A name that the stream does not store is refused", arguments: NATSServer.programs)
    func unknownName(program: String) async throws {
      let server = try server(program)
      let one = Member(bus(server))
      one.relay.carry(Ring.self, in: one.center, .outward)
      one.post(1...3)
      for _ in 1...3 { one.center.post(Ring(tower: "x")) }
      one.post(4...6)
      try await one.relay.flush()
      for _ in 1...3 {
        let event = try await one.event(.refused)
        #expect(event.subject == "bell.x.ring")
        #expect(event.reason.contains("\"S\""))
      }
      #expect(try await count(one.relay) == 6)
      withExtendedLifetime(one) {}
    }

    @Test("A stream that stores a request does not answer it", arguments: NATSServer.programs)
    func storedRequest(program: String) async throws {
      let server = try server(program)
      let (one, two) = try await connected(Member(bus(server)), Member(bus(server)))
      await #expect(throws: RelayError.self) {
        _ = try await one.relay.request(raw: [], to: "clock.now", within: .seconds(1))
      }
      let token = two.relay.answer(raw: "clock.now") { _, _ in Array("noon".utf8) }
      try await two.relay.flush()
      let answer = try await one.relay.request(raw: [], to: "clock.now", within: patience)
      #expect(answer == Array("noon".utf8))
      token.cancel()
      withExtendedLifetime((one, two)) {}
    }
  }
#endif
