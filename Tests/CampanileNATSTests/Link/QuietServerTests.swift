#if NATS
  import CampanileRelay
  import NIOCore
  import NIOEmbedded
  import Testing

  @testable import CampanileNATS

  @Suite("How a receiver with a name leaves a server")
  struct QuietServerTests {
    private var link: LinkState
    private let configuration: NATSConfiguration

    /// A link that receives from a stream.
    init() throws {
      let options = DurableOptions(stream: "S", subjects: [], replicas: 1, consumer: "me")
      configuration = try NATSConfiguration(servers: "nats://a:1,nats://b:1")
      link = LinkState(
        NATSSession(id: 0xAB, name: "me", processID: 1, durable: options), configuration)
      link.connect()
      link.perform([.subscribe("x")])
      open(1, &link)
      for _ in 1...2 { link.tick() }
      answerAll(1, &link)
      #expect(link.session.durable?.phase == .pulling)
    }

    private func open(_ number: Int, _ link: inout LinkState) {
      var info = ServerInfo()
      info.hasHeaders = true
      link.handle(.connected(NATSConnection(EmbeddedChannel())), of: number)
      link.handle(.frames([.info(info), .pong], byteCount: 0, .init()), of: number)
    }

    /// Answers all that is asked about the stream and the consumer.
    private func answerAll(_ number: Int, _ link: inout LinkState) {
      while true {
        let text = link.takeEffects().sends.map { String(buffer: $0.bytes) }.joined()
        let tokens = text.matches(of: #/API\.\S+ (_INBOX\.\w+\.[ic]\d+x\w+) /#).map(\.1)
        if tokens.isEmpty { return }
        let messages = tokens.map {
          ServerMessage(
            subject: String($0), sid: NATSSession.inboxSid, reply: nil, headers: .none,
            payload: Array(#"{"created":"1","state":{"last_seq":3}}"#.utf8))
        }
        link.handle(.frames([.messages(messages)], byteCount: 0, .init()), of: number)
      }
    }

    @Test("R2 It receives at once from the next server if the one that it leaves answers")
    func reconnecting() {
      for answers in [true, false] {
        for hasOtherServers in [true, false] {
          var link = link
          for _ in 1...2 { link.tick() }
          if hasOtherServers {
            link.reconnect(to: configuration)
          } else {
            link.reconnect()
          }
          // Asked once whether it is there.
          link.reconnect()
          let effects = link.takeEffects()
          #expect(effects.closes.isEmpty && effects.connects.isEmpty)
          #expect(effects.sends.map { String(buffer: $0.bytes) } == ["PING\r\n"])
          if answers {
            link.handle(.frames([.pong], byteCount: 0, .init()), of: 1)
          } else {
            for _ in 1...3 {
              #expect(link.takeEffects().closes.isEmpty)
              link.tick()
            }
          }
          #expect(link.takeEffects().closes.count == 1)
          open(2, &link)
          answerAll(2, &link)
          #expect(link.session.durable?.phase == (answers ? .pulling : .settling))
        }
      }
    }

    @Test("What a server reports that is being left is none of the new list")
    func reportedWhileLeaving() throws {
      var link = link
      for _ in 1...2 { link.tick() }
      link.reconnect(to: try NATSConfiguration(servers: "nats://c:1"))
      var info = ServerInfo()
      info.hasHeaders = true
      info.others = ["b:1", "d:1"]
      link.handle(.frames([.info(info)], byteCount: 0, .init()), of: 1)
      #expect(link.takeEffects().connects.map(\.address.host) == ["c"])
    }

    @Test("It leaves a server at once that has just said something, or that it does not read")
    func leavingAtOnce() {
      for isReading in [true, false] {
        var link = link
        for _ in 1...2 { link.tick() }
        if isReading {
          link.handle(.frames([.ok], byteCount: 0, .init()), of: 1)
        } else {
          _ = link.setReading(false)
        }
        link.reconnect()
        #expect(link.takeEffects().closes.count == 1)
      }
    }
  }
#endif
