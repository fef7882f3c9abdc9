#if NATS
  import CampanileRelay
  import NIOCore
  import NIOEmbedded
  import Testing

  @testable import CampanileNATS

  @Suite("How a receiver with a name leaves a server")
  struct QuietServerTests {
    private var link: LinkState

    /// A link that receives from a stream.
    init() throws {
      let options = DurableOptions(stream: "S", subjects: [], replicas: 1, consumer: "me")
      link = LinkState(
        NATSSession(id: 0xAB, name: "me", processID: 1, durable: options),
        try NATSConfiguration(servers: "nats://a:1,nats://b:1"))
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
        let tokens = text.matches(of: #/API\.\S+ (_INBOX\.ab\.[ic]\d+) /#).map(\.1)
        if tokens.isEmpty { return }
        let messages = tokens.map {
          ServerMessage(
            subject: String($0), sid: NATSSession.inboxSid, reply: nil, headers: .none,
            payload: Array(#"{"created":"1","state":{"last_seq":3}}"#.utf8))
        }
        link.handle(.frames([.messages(messages)], byteCount: 0, .init()), of: number)
      }
    }

    // Broken by: LinkState.end, if it asks for the unanswered pings alone.
    @Test("R2 It receives at once only if the server left has said something lately")
    func reconnecting() {
      for isQuiet in [true, false] {
        var link = link
        for _ in 1...2 { link.tick() }
        if !isQuiet { link.handle(.frames([.ok], byteCount: 0, .init()), of: 1) }
        link.reconnect()
        open(2, &link)
        answerAll(2, &link)
        let phase = link.session.durable?.phase
        if isQuiet {
          guard case .settling(let seconds)? = phase else {
            Issue.record("\(String(describing: phase))")
            continue
          }
          #expect(seconds > DurableState.acknowledgmentWait)
        } else {
          #expect(phase == .pulling)
        }
      }
    }
  }
#endif
