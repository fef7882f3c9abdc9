#if NATS
  import CampanileRelay
  import NIOCore
  import Testing

  @testable import CampanileNATS

  @Suite("Reading what a server of NATS sends")
  struct ServerParserTests {
    private struct Reading: Equatable {
      var frames: [ServerFrame] = []
      var error: String?
    }

    /// Reads bytes that come in pieces.
    private func read(_ bytes: [UInt8], in pieces: [ArraySlice<UInt8>]? = nil) -> Reading {
      let processor = NIOSingleStepByteToMessageProcessor(ServerParser())
      var reading = Reading()
      do {
        for piece in pieces ?? [bytes[...]] {
          try processor.process(buffer: ByteBuffer(bytes: piece)) { frame in
            guard case .messages(let messages) = frame else {
              return reading.frames.append(frame)
            }
            // How many come together depends on the pieces.
            reading.frames += messages.map { .messages([$0]) }
          }
        }
      } catch {
        reading.error = "\(error)"
      }
      return reading
    }

    private func read(_ text: String) -> Reading { read(Array(text.utf8)) }

    private static let conversation = [
      "INFO {\"server_id\":\"x\",\"headers\":true,\"max_payload\":1024,",
      "\"connect_urls\":[\"a:1\",\"[::1]:2\"],\"nonce\":\"n\"}\r\n+OK\r\nPING\r\nPONG\r\n",
      "MSG a.b 7 5\r\nhello\r\nMSG a.b 7 _INBOX.x 0\r\n\r\nmsg\ta  7   2\r\n\r\n\r\n",
      "HMSG a 1 12 17\r\nNATS/1.0\r\n\r\nhello\r\n",
      "HMSG a 1 r.s 16 16\r\nNATS/1.0 503\r\n\r\n\r\n-ERR 'Stale Connection'\r\n",
    ].joined()

    @Test("Reads the same however the bytes are split")
    func splits() {
      let bytes = Array(Self.conversation.utf8)
      let whole = read(bytes)
      #expect(whole.error == nil)
      #expect(whole.frames.count == 10)
      for cut in bytes.indices {
        #expect(read(bytes, in: [bytes[..<cut], bytes[cut...]]) == whole, "split at \(cut)")
      }
      #expect(read(bytes, in: bytes.indices.map { bytes[$0...$0] }) == whole)
    }

    @Test("Reads messages with headers, and where to answer")
    func messages() throws {
      let frames = read(Self.conversation).frames
      guard case .info(let info) = frames[0] else { throw Mistake() }
      #expect(info.others == ["a:1", "[::1]:2"])
      #expect((info.maxPayload, info.nonce, info.hasHeaders) == (1_024, "n", true))
      let none = HeaderBlock.none
      #expect(
        Array(frames[4...]) == [
          .messages([
            ServerMessage(
              subject: "a.b", sid: 7, reply: nil, headers: none, payload: Array("hello".utf8))
          ]),
          .messages([
            ServerMessage(subject: "a.b", sid: 7, reply: "_INBOX.x", headers: none, payload: [])
          ]),
          .messages([
            ServerMessage(subject: "a", sid: 7, reply: nil, headers: none, payload: [13, 10])
          ]),
          .messages([
            ServerMessage(
              subject: "a", sid: 1, reply: nil,
              headers: HeaderBlock(bytes: Array("NATS/1.0\r\n\r\n".utf8)),
              payload: Array("hello".utf8))
          ]),
          .messages([
            ServerMessage(
              subject: "a", sid: 1, reply: "r.s",
              headers: HeaderBlock(bytes: Array("NATS/1.0 503\r\n\r\n".utf8)), payload: [])
          ]),
          .error("Stale Connection"),
        ])
    }

    private struct Mistake: Error {}

    @Test(
      "Refuses what is no protocol",
      arguments: [
        "\r\n", "HELLO\r\n", "MSG\r\n", "MSG a 1\r\n", "MSG a 1 -1\r\n", "MSG a 1 b c 1\r\n",
        "MSG a b 1\r\n", "MSG a 1 5\r\nhello!\r\n", "HMSG a 1 9 5\r\n", "HMSG a 1 5\r\n",
        "MSG a 1 1234567890123456789\r\n", "PING\n", "INFO {]\r\n", "INFO\r\n",
        "INFO {\"max_payload\":0}\r\n", "INFO {\"headers\":\"yes\"}\r\n", "\n",
      ])
    func nonsense(text: String) {
      #expect(read(text).error != nil)
    }

    @Test("Refuses a length before the bytes have come")
    func lengths() {
      #expect(read("MSG a 1 99999999999\r\n").error != nil)
      #expect(read("HMSG a 1 12 99999999999\r\n").error != nil)
      #expect(read("MSG a 1 \(ServerParser.messageLimit)\r\n").error == nil)
    }

    @Test("Refuses a line without an end, long before memory is full")
    func longLines() {
      #expect(read("MSG " + String(repeating: "a", count: ServerParser.lineLimit - 3)).error != nil)
      #expect(read("MSG " + String(repeating: "a", count: ServerParser.lineLimit - 4)).error == nil)
      // INFO names the servers of a cluster.
      let info = "INFO {\"server_id\":\"" + String(repeating: "a", count: 200_000)
      #expect(read(info).error == nil)
      #expect(read(info + "\"}\r\n").frames.count == 1)
      #expect(read(info + info).error != nil)
    }
  }

  @Suite("Headers of messages of NATS")
  struct HeaderBlockTests {
    private func block(_ text: String) -> HeaderBlock { HeaderBlock(bytes: Array(text.utf8)) }

    @Test("Has a status and its text")
    func status() {
      let block = block("NATS/1.0 503 No Responders\r\nA: b\r\n\r\n")
      #expect((block.status, block.statusText) == (503, "No Responders"))
      #expect(self.block("NATS/1.0 100\r\n\r\n").status == 100)
      #expect(self.block("NATS/1.0\r\n\r\n").status == nil)
      #expect(HeaderBlock.none.status == nil)
    }

    @Test("Finds fields by their names as they are written, without the space around values")
    func fields() {
      let block = block("NATS/1.0\r\nAb: 1\r\nA:\t two  \r\nA: 3\r\nempty:\r\nno colon\r\n\r\n")
      #expect(block.text(of: "A") == "two")
      #expect(block.text(of: "Ab") == "1")
      #expect(block.text(of: "a") == nil)
      #expect(block.text(of: "empty") == "")
      #expect(block.text(of: "no colon") == nil)
    }

    @Test("Broken headers have no fields, and nothing else happens")
    func broken() {
      for text in ["", "\r", "A: b", "NATS/1.0", "NATS/1.0\r", "NATS/1.0\r\n", "NATS/1.0\r\nA"] {
        #expect(block(text).value(of: "A") == nil)
        #expect(block(text).status == nil)
      }
    }

    @Test("An envelope says the same when it is read")
    func envelope() throws {
      var head = PostHead(
        .init(id: "ff", name: "a%20b", acknowledgments: "", seal: ReplySeal(), isStored: false))
      head.begin(.init(subject: "a", version: 4, path: [1, .max]))
      head.write(number: 12, since: 3, mark: 1, count: 0)
      let headers = HeaderBlock(bytes: Array(head.bytes.suffix(head.headerCount)))
      let envelope = try #require(Envelope(headers))
      #expect((envelope.sender, envelope.number, envelope.since) == (255, 12, 3))
      #expect((envelope.version, envelope.name, envelope.path) == (4, "a b", [1, .max]))
    }

    @Test(
      "What is no envelope is none",
      arguments: [
        "", "1 2 3 4 n", "1 2 1 4 n - -", "g 2 1 4 n -", "1 -2 1 4 n -", "1 2 3 4 n -",
        "1 2 1 4294967296 n -", "1 2 1 4 n x", "10000000000000000 2 1 4 n -",
        "1 18446744073709551616 1 4 n -",
      ])
    func noEnvelope(text: String) {
      #expect(Envelope(block("NATS/1.0\r\nCampanile: \(text)\r\n\r\n")) == nil)
      #expect(Envelope(block("NATS/1.0\r\nCampanile: 1 2 1 4 n -\r\n\r\n")) != nil)
    }
  }

  @Suite("What a client of NATS says")
  struct ClientFrameTests {
    private func text(_ write: (inout ByteBuffer) -> Void) -> String {
      var buffer = ByteBuffer()
      write(&buffer)
      return String(buffer: buffer)
    }

    @Test("Lines are those of the protocol")
    func lines() {
      #expect(text { $0.writeSubscribe("a.>", sid: 9) } == "SUB a.> 9\r\n")
      #expect(text { $0.writeUnsubscribe(sid: 9) } == "UNSUB 9\r\n")
      #expect(text { $0.writePing() } + text { $0.writePong() } == "PING\r\nPONG\r\n")
      #expect(text { $0.writeConnect(json: Array("{}".utf8)) } == "CONNECT {}\r\n")
      let headers = Array("NATS/1.0\r\n\r\n".utf8)
      #expect(text { $0.writePublish("a", payload: [0x68]) } == "PUB a 1\r\nh\r\n")
      #expect(
        text { $0.writePublish("a", reply: "b", headers: headers, payload: [0x68]) }
          == "HPUB a b 12 13\r\nNATS/1.0\r\n\r\nh\r\n")
    }

    @Test("Subjects that a server takes for others, or ignores, are no names")
    func subjects() {
      for name in ["a", "a.b", "ä.%", "$JS.API", "a-b_c"] { #expect(NATSSubject.isName(name)) }
      for name in ["", ".", "a.", ".a", "a..b", "a b", "a\tb", "a\r\n", "*", "a.>", "a*", "\u{7F}"]
      {
        #expect(!NATSSubject.isName(name))
      }
      #expect(NATSSubject.isName(String(repeating: "a", count: NATSSubject.limit)))
      #expect(!NATSSubject.isName(String(repeating: "a", count: NATSSubject.limit + 1)))
    }
  }
#endif
