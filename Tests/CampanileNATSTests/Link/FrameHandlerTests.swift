#if NATS
  import Campanile
  import NIOCore
  import NIOEmbedded
  import Testing

  @testable import CampanileNATS

  @Suite("How what a server sends is handed on")
  struct FrameHandlerTests {
    @Test("A server is not silent while a message takes long to arrive")
    func slowMessage() throws {
      let configuration = try NATSConfiguration(servers: "nats://a:1")
      let info = ByteBuffer(string: "INFO {\"headers\":true}\r\nPONG\r\nMSG x 1 90\r\n")
      let address = try #require(configuration.servers.first)
      let read = Locked<[NATSConnection.Event]>([])
      let handler = FrameHandler(
        address, configuration.tls, certificateName: nil, fail: { _ in }
      ) { frames, count in
        read.withLock { $0.append(.frames(frames, byteCount: count, .init())) }
      }
      let channel = EmbeddedChannel(handler: handler)
      var link = LinkState(NATSSession(id: 0xAB, name: "me", processID: 1), configuration)
      link.connect()
      link.handle(.connected(NATSConnection(EmbeddedChannel())), of: 1)
      for part in [info] + (1...80).map({ _ in ByteBuffer(string: "a") }) {
        try channel.writeInbound(part)
        let events = read.withLock { read in
          defer { read = [] }
          return read
        }
        for event in events { link.handle(event, of: 1) }
        link.tick()
      }
      #expect(link.takeEffects().closes.isEmpty)
      _ = try channel.finish()
    }
  }
#endif
