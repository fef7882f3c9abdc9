#if NATS
  import Campanile
  import CampanileNATS
  import CampanileRelay
  import CampanileTesting
  import Foundation
  import NIOCore
  import NIOPosix
  import RelayTestSupport
  import TestSupport
  import Testing

  /// A client that says what it likes, in the language of the protocol.
  private final class ForeignClient: Sendable {
    private let channel: any Channel
    private let frames: Recorder<String>

    private final class Listener: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer
      private let frames: Recorder<String>
      private var text = ""

      init(_ frames: Recorder<String>) { self.frames = frames }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        text += String(buffer: unwrapInboundIn(data))
        while let end = text.firstRange(of: "\r\n") {
          frames.record(String(text[..<end.lowerBound]))
          text.removeSubrange(..<end.upperBound)
        }
      }
    }

    init(_ server: NATSServer, _ user: String = "") async throws {
      let frames = Recorder<String>(timeout: patience)
      self.frames = frames
      channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Listener(frames))
          }
        }
        .connect(host: "127.0.0.1", port: server.port).get()
      let name = user.isEmpty ? "" : #","user":"\#(user)","pass":"pw""#
      try await say(#"CONNECT {"verbose":false,"headers":true\#(name)}"#)
      try await flush()
    }

    deinit { channel.close(promise: nil) }

    func say(_ line: String) async throws {
      try await channel.writeAndFlush(ByteBuffer(string: line + "\r\n"))
    }

    /// Publishes a message, maybe with a header of the relays.
    func publish(
      _ subject: String, reply: String = "", envelope: String? = nil, _ payload: String = ""
    ) async throws {
      let headers = "NATS/1.0\r\n" + (envelope.map { "Campanile: \($0)\r\n" } ?? "") + "\r\n"
      let (length, all) = (headers.utf8.count, headers.utf8.count + payload.utf8.count)
      try await say("HPUB \(subject) \(reply) \(length) \(all)\r\n\(headers)\(payload)")
    }

    /// The next line that has a text.
    func hear(_ text: String) async throws -> String {
      while true {
        let line = try await frames.next()
        if line.contains(text) { return line }
      }
    }

    /// Returns when the server has read all that was said.
    func flush() async throws {
      try await say("PING")
      _ = try await hear("PONG")
    }
  }

  @Suite("What another client of a NATS server can forge", .withServers, .timeLimit(.minutes(5)))
  struct ForgeryTests {
    /// Headers of a client that knows those of a relay, and whom each message seems to be from: nobody
    /// if it is not heard, and 0 if the header says nothing.
    private func headers(like real: [String]) -> [(String, heardFrom: [UInt64])] {
      let (sender, name) = (UInt64(real[0], radix: 16)!, real[4])
      let numbers: [(String, [UInt64])] = [
        ("0", []), ("1", []), ("18446744073709551615", [sender]),
        ("4611686018427387904", [sender]), ("99999999999", [sender]),
        ("18446744073709551616", [0]), ("-1", [0]), ("x", [0]), ("", [0]),
      ]
      var forged: [(String, heardFrom: [UInt64])] = []
      for (number, heard) in numbers {
        for since in ["0", "1", number] {
          // A number before the first one is none.
          let isRight = number != "0" || since == "0"
          forged.append(
            ("\(real[0]) \(number) \(since) 0 \(name) -", isRight ? heard : [0]))
        }
      }
      forged += [
        // The sender.
        ("0 1 1 0 n -", [0]), ("ffffffffffffffff 1 1 0 n -", [.max]), ("g 1 1 0 n -", [0]),
        (" 1 1 0 n -", [0]), ("10000000000000000 1 1 0 n -", [0]), ("", [0]),
        // The version.
        ("7 1 1 4294967295 n -", [7]), ("7 2 1 4294967296 n -", [0]), ("7 2 1 -1 n -", [0]),
        // The name.
        ("8 1 1 0 % -", [8]), ("8 2 1 0 \(String(repeating: "n", count: 100_000)) -", [8]),
        ("8 3 1 0  -", [8]),
        // The path.
        ("9 1 1 0 n ", [0]), ("9 1 1 0 n ,", [9]), ("9 2 1 0 n ff,", [9]), ("9 3 1 0 n x", [0]),
        ("9 3 1 0 n \(String(repeating: "f,", count: 10_000))f", [9]), ("9 4 1 0 n - -", [0]),
      ]
      return forged
    }

    @Test(
      "R7 No field of a header mutes its sender, or makes a sum of losses overflow",
      arguments: NATSServer.programs)
    func headers(program: String) async throws {
      let server = try NATSServer(program)
      let client = try await ForeignClient(server)
      for (sid, subject) in ["_campanile.here", "clock.tick"].enumerated() {
        try await client.say("SUB \(subject) \(sid)")
      }
      try await client.flush()
      let two = Member(.nats(server.url, .pedantic), "two", carrying: .inward)
      let inbox = try await client.hear(".here").split(separator: " ")[3].dropLast(4)
      let one = Member(.nats(server.url, .pedantic), "one", carrying: .outward)
      let senders = Recorder<UInt64>(timeout: patience)
      let token = two.relay.raw("clock.tick").observe { payload in
        if payload.bytes.last == UInt8(ascii: " ") { senders.record(payload.sender.id) }
      }
      try await two.relay.flush()
      one.post([1])
      #expect(try await two.ticks.next() == 1)
      let header = try await client.hear("Campanile: ").dropFirst("Campanile: ".count)
      let real = header.split(separator: " ").map(String.init)
      var last = 1
      for (envelope, heardFrom) in headers(like: real) {
        let count = senders.values.count
        try await client.publish("clock.tick", envelope: envelope, #"{"number":-1} "#)
        // The last numbers, which any client can send.
        for number in ["18446744073709551615", "99999999999", "\(last + 1_000)", "-1", "x"] {
          try await client.publish(
            inbox + "again", "\(real[0]) 1 10 one\n\(number) 1 clock.tick\n\(number)")
        }
        try await client.flush()
        last += 1
        one.post([last])
        while try await two.ticks.next() != last {}
        #expect(Array(senders.values.dropFirst(count)) == heardFrom, "\(envelope.prefix(60))")
      }
      var sum = 0
      for event in two.events.values where event.kind == .lost {
        let (total, overflows) = sum.addingReportingOverflow(event.count ?? 0)
        #expect(!overflows)
        sum = total
      }
      #expect(two.events.values.contains { $0.kind == .lost && $0.count == nil })
      #expect(two.relay.peers.value.contains { $0.name == "one" })
      withExtendedLifetime((one, two, client, token)) {}
    }

    @Test(
      "Who hears what relays say to each other can answer only what has been asked there",
      arguments: NATSServer.programs)
    func answers(program: String) async throws {
      let server = try NATSServer(program, "jetstream { store_dir: \"FOLDER/js\" }")
      let client = try await ForeignClient(server)
      for (sid, subject) in ["_campanile.here", "ask"].enumerated() {
        try await client.say("SUB \(subject) \(sid)")
      }
      try await client.flush()
      // The stream does not exist yet.
      let one = Member(.nats(server.url, .durable("S"), .pedantic), "one", carrying: .outward)
      async let first = one.relay.request(raw: [], to: "ask", within: patience)
      let inbox = String(try await client.hear(".here").split(separator: " ")[3].dropLast(4))
      let id = try await client.hear(" one").prefix { $0 != " " }
      let asked = String(try await client.hear("HMSG ask ").split(separator: " ")[3])
      #expect(asked.hasPrefix(inbox))
      one.post(1...3)
      async let stored: Void = one.relay.flush()
      // Whatever these say, and what could be guessed from it.
      let seal = asked.suffix(16)
      for inbox in [inbox, "_INBOX.\(id)."] {
        for token in (0...5).flatMap({ n in
          ["", "a", "c", "i", "p1.", "q", "s", "x"].map { $0 + "\(n)" }
        }) {
          for subject in [inbox + token, inbox + token + "x\(seal)"] where subject != asked {
            try await client.publish(subject, #"{"stream":"S","seq":1,"created":"1"}"#)
          }
        }
      }
      try await client.flush()
      try await client.publish(asked, "right")
      #expect(String(decoding: try await first, as: UTF8.self) == "right")
      let other = Member(.nats(server.url, .durable("S", creating: ["clock.>"])))
      #expect(try await other.ticks.next(3) == [1, 2, 3])
      try await stored
      #expect(one.events.values.allSatisfy { $0.kind == .denied })
      withExtendedLifetime((one, other, client)) {}
    }

    @Test(
      "Users with a prefix of their own each hear no answers to others",
      arguments: NATSServer.programs)
    func prefixes(program: String) async throws {
      func user(_ name: String) -> String {
        """
        { user: \(name), password: pw, permissions: {
          publish: ["clock.>", "ask.>", "_campanile.>", "$JS.API.>", "$JS.ACK.>"]
          subscribe: ["clock.>", "ask.>", "_campanile.>", "_INBOX_\(name).>"]
          allow_responses: true } }
        """
      }
      let server = try NATSServer(
        program,
        """
        jetstream { store_dir: "FOLDER/js" }
        authorization { users = [
          \(user("one"))
          \(user("two"))
        ] }
        """)
      func member(_ name: String) -> Member {
        Member(
          .nats(
            server.url, .user(name, password: "pw"), .inboxPrefix("_INBOX_\(name)"),
            .durable("S", creating: ["clock.>"], as: name)), name)
      }
      let (one, two) = try await connected(member("one"), member("two"))
      one.post([1])
      #expect(try await two.ticks.next() == 1)
      let token = two.relay.answer(raw: "ask.double") { _, bytes in bytes + bytes }
      try await two.relay.flush()
      #expect(
        try await one.relay.request(raw: [7], to: "ask.double", within: patience) == [7, 7])
      for member in [one, two] { #expect(member.events.values.isEmpty) }
      let client = try await ForeignClient(server, "two")
      try await client.say("SUB _INBOX_one.> 1")
      #expect(try await client.hear("-ERR").contains("Permissions Violation"))
      withExtendedLifetime((one, two, token)) {}
    }
  }
#endif
