#if NATS
  import CampanileRelay
  import NIOCore
  import NIOEmbedded
  import Testing

  @testable import CampanileNATS

  extension RelayOperation {
    /// One post.
    static func post(
      subject: String, version: UInt32 = 0, path: [UInt64] = [], payload: [UInt8] = []
    ) -> Self {
      var posts = RelayPosts()
      posts.append(RelayPosts.Heading(subject: subject, version: version, path: path), payload)
      return .posts(posts)
    }
  }

  @Suite("How a link leaves a server that ends")
  struct LinkStateTests {
    private var link: LinkState
    private let first = NATSConnection(EmbeddedChannel())
    private let second = NATSConnection(EmbeddedChannel())

    /// A link whose first server has said that it ends soon, and that is connected to the second one.
    init() throws { try self.init(pingInterval: 10) }

    private init(pingInterval: Int) throws {
      var configuration = try NATSConfiguration(servers: "nats://a:1,nats://b:1")
      configuration.pingInterval = pingInterval
      link = LinkState(NATSSession(id: 0xAB, name: "me", processID: 1), configuration)
      link.connect()
      link.handle(.connected(first), of: 1)
      link.handle(.frames([.info(Self.info()), .pong], byteCount: 0, .init()), of: 1)
      _ = link.takeEffects()
      link.handle(.frames([.info(Self.info(isLameDuck: true))], byteCount: 0, .init()), of: 1)
      link.tick()
      #expect(link.takeEffects().connects.map(\.number) == [2])
      link.handle(.connected(second), of: 2)
      link.handle(.frames([.info(Self.info())], byteCount: 0, .init()), of: 2)
      _ = link.takeEffects()
    }

    private static func info(isLameDuck: Bool = false) -> ServerInfo {
      var info = ServerInfo()
      (info.hasHeaders, info.isLameDuck) = (true, isLameDuck)
      return info
    }

    /// What is sent, and to which server: lines without CONNECT and announcements.
    private func effects(_ link: inout LinkState) -> (sent: [String], closed: [Int]) {
      let effects = link.takeEffects()
      func number(_ connection: NATSConnection) -> Int { connection === first ? 1 : 2 }
      let sent = effects.sends.flatMap { connection, bytes in
        String(buffer: bytes).split(separator: "\r\n")
          .filter { $0 == "PING" || $0.hasPrefix("SUB x") || $0.hasPrefix("HPUB") }
          .map { "\(number(connection)): \($0.prefix(6))" }
      }
      return (sent.sorted(), effects.closes.map(number))
    }

    private func receive(_ frames: ServerFrame..., from number: Int, _ link: inout LinkState) {
      link.handle(.frames(frames, byteCount: 0, .init()), of: number)
    }

    @Test("A server that has said that it ends is left though it describes itself again")
    func describesItselfAgain() throws {
      let configuration = try NATSConfiguration(servers: "nats://a:1,nats://b:1")
      var link = LinkState(NATSSession(id: 0xAB, name: "me", processID: 1), configuration)
      link.connect()
      link.handle(.connected(first), of: 1)
      receive(.info(Self.info()), .pong, from: 1, &link)
      _ = link.takeEffects()
      receive(.info(Self.info(isLameDuck: true)), .info(Self.info()), from: 1, &link)
      link.tick()
      #expect(link.takeEffects().connects.map(\.number) == [2])
    }

    @Test(
      "To take the place of a server that ends, each other one is tried again and again",
      arguments: [true, false])
    func others(isShuffled: Bool) throws {
      var configuration = try NATSConfiguration(servers: "nats://a:1,nats://b:1,nats://c:1")
      (configuration.shufflesServers, configuration.pingInterval) = (isShuffled, 1_000)
      var link = LinkState(NATSSession(id: 0xAB, name: "me", processID: 1), configuration)
      link.connect()
      let ending = link.takeEffects().connects[0].address
      link.handle(.connected(first), of: 1)
      receive(.info(Self.info(isLameDuck: true)), .pong, from: 1, &link)
      var tried: [ServerAddress: Int] = [:]
      for _ in 1...30 {
        link.tick()
        for connect in link.takeEffects().connects {
          tried[connect.address, default: 0] += 1
          link.handle(.closed("no"), of: connect.number)
        }
      }
      #expect(tried[ending] == nil && tried.count == 2)
      #expect(tried.values.allSatisfy { (8...12).contains($0) })
    }

    @Test("A server that answers nothing after two pings is left")
    func unnoticed() {
      var state = ConnectionState(pingInterval: 1)
      var actions: [ConnectionState.Action] = []
      state.received(.info(Self.info()), &actions)
      state.received(.pong, &actions)
      for _ in 1...2 { state.tick(isReading: true, &actions) }
      #expect(state.isOpen)
      state.received(.pong, &actions)
      for _ in 1...3 { state.tick(isReading: true, &actions) }
      #expect(state.isClosed)
    }

    @Test("A type that is carried meanwhile is heard from the second server")
    func carriedMeanwhile() {
      var link = link
      receive(.pong, from: 2, &link)
      #expect(effects(&link).sent == ["2: PING"])
      link.perform([.subscribe("x")])
      #expect(effects(&link).sent == [])
      receive(.pong, from: 2, &link)
      #expect(effects(&link).sent == ["1: PING"])
      receive(.pong, from: 1, &link)
      let (sent, closed) = effects(&link)
      #expect(sent == ["2: SUB x "])
      #expect(closed == [1])
    }

    @Test("The answer to an earlier ping doesn't end the first connection")
    func earlierPing() {
      var link = link
      link.perform([.flush(7)])
      #expect(effects(&link).sent == ["1: PING"])
      for _ in 1...2 { receive(.pong, from: 2, &link) }
      #expect(effects(&link).sent == ["1: PING", "2: PING"])
      receive(.pong, from: 1, &link)
      #expect(effects(&link).closed == [])
      receive(.pong, from: 1, &link)
      #expect(effects(&link).closed == [1])
    }

    @Test("If the second server ends early, what is posted meanwhile is not taken for confirmed")
    func secondEndsEarly() {
      var link = link
      for _ in 1...2 { receive(.pong, from: 2, &link) }
      #expect(effects(&link).sent == ["1: PING", "2: PING"])
      link.handle(.closed(nil), of: 2)
      link.perform([.post(subject: "a", version: 0, path: [], payload: []), .flush(7)])
      #expect(effects(&link).sent == ["1: HPUB a", "1: PING"])
      receive(.pong, from: 1, &link)
      #expect(effects(&link).closed == [])
      #expect(!link.session.outbox.isEmpty)
      receive(.pong, from: 1, &link)
      #expect(link.session.outbox.isEmpty)
    }

    @Test("The answer to the question for the rest does not confirm that requests have ended")
    func endedAnswers() {
      var link = link
      link.perform([.answer("q")])
      for _ in 1...2 { receive(.pong, from: 2, &link) }
      _ = link.takeEffects()
      link.handle(.closed(nil), of: 2)
      link.perform([.stopAnswering("q")])
      #expect(effects(&link).sent == ["1: PING"])
      #expect(requests(after: .pong, reply: "r.1", from: 1, &link) == 1)
      #expect(requests(after: .pong, reply: "r.2", from: 1, &link) == 0)
    }

    /// Receives a frame and a request, and counts the requests that arrive at the relay.
    private func requests(
      after frame: ServerFrame, reply: String, from number: Int, _ link: inout LinkState
    ) -> Int {
      let message = ServerMessage(subject: "q", sid: 10, reply: reply, headers: .none, payload: [])
      receive(frame, .messages([message]), from: number, &link)
      return link.takeEffects().incidents.count { if case .request = $0 { true } else { false } }
    }

    /// A link to the first server, which is asked for the messages of a stream.
    private func pulling() throws -> LinkState {
      let configuration = try NATSConfiguration(servers: "nats://a:1,nats://b:1")
      let options = DurableOptions(stream: "S", subjects: [], replicas: 1, consumer: "me")
      let session = NATSSession(id: 0xAB, name: "me", processID: 1, durable: options)
      var link = LinkState(session, configuration)
      link.perform([.subscribe("a")])
      link.connect()
      link.handle(.connected(first), of: 1)
      receive(.info(Self.info()), .pong, from: 1, &link)
      for _ in 1...2 { link.tick() }
      try answerRequests(from: 1, &link)
      return link
    }

    /// Answers where the stream ends, and that there is a consumer.
    private func answerRequests(from number: Int, _ link: inout LinkState) throws {
      func answer(_ token: String, _ json: String) {
        let message = ServerMessage(
          subject: link.session.inbox + link.session.seal.sealed(token),
          sid: NATSSession.inboxSid, reply: nil, headers: .none, payload: Array(json.utf8))
        receive(.messages([message]), from: number, &link)
      }
      let requests = sent(to: number == 1 ? first : second, &link)
      let generation = try #require(
        requests.firstMatch(of: /_INBOX\.\w+\.i([0-9]+)x/).flatMap { Int($0.1) })
      answer("i\(generation)", #"{"created":"2026","state":{"last_seq":1}}"#)
      answer("c\(generation + 1)", "{}")
    }

    /// Where the messages of a connection's pulls arrive.
    private func pullInbox(_ number: Int, _ link: LinkState) -> String {
      link.session.inbox + link.session.seal.sealed("p\(number)")
    }

    /// All that is sent to one of the servers.
    private func sent(to connection: NATSConnection, _ link: inout LinkState) -> String {
      link.takeEffects().sends.filter { $0.connection === connection }
        .map { String(buffer: $0.bytes) }.joined()
    }

    /// The names of the messages that are acknowledged once they have been delivered.
    private func awaited(in effects: LinkState.Effects) -> [String] {
      effects.incidents.compactMap { incident in
        if case .awaited(_, _, let subject, _, _, _, _) = incident { subject } else { nil }
      }
    }

    @Test("R2 The second server sends nothing of what the first one was asked for")
    func pullsOfFirst() throws {
      var link = try pulling()
      #expect(sent(to: first, &link).contains("MSG.NEXT.S.me \(pullInbox(1, link))."))
      receive(.info(Self.info(isLameDuck: true)), from: 1, &link)
      link.tick()
      link.handle(.connected(second), of: 2)
      receive(.info(Self.info()), .pong, from: 2, &link)
      let subscriptions = sent(to: second, &link)
      #expect(subscriptions.contains("SUB \(pullInbox(2, link)).* 3\r\n"))
      #expect(!subscriptions.contains(pullInbox(1, link)))
      receive(.pong, from: 2, &link)
      // The first server sends so much meanwhile that another pull is due.
      for number in 2...400 {
        let message = ServerMessage(
          subject: "a", sid: NATSSession.streamSid, reply: "$JS.ACK.S.me.1.\(number).1.1.0",
          headers: .none, payload: [])
        receive(.messages([message]), from: 1, &link)
      }
      #expect(awaited(in: link.takeEffects()).count == 399)
      for _ in 1...2 { receive(.pong, from: 1, &link) }
      var other = link
      #expect(!sent(to: second, &other).contains("MSG.NEXT"))
      try answerRequests(from: 2, &link)
      #expect(sent(to: second, &link).contains("MSG.NEXT.S.me \(pullInbox(2, link))."))
    }

    @Test(
      "R4 What has been delivered meanwhile is acknowledged to the second server, or given back",
      arguments: [true, false])
    func acknowledgedMeanwhile(isTaken: Bool) throws {
      var link = try pulling()
      let reply = "$JS.ACK.S.me.1.2.1.1.0"
      let message = ServerMessage(
        subject: "a", sid: NATSSession.streamSid, reply: reply, headers: .none, payload: [])
      receive(.messages([message]), from: 1, &link)
      #expect(awaited(in: link.takeEffects()) == ["a"])
      receive(.info(Self.info(isLameDuck: true)), from: 1, &link)
      link.tick()
      link.handle(.connected(second), of: 2)
      receive(.info(Self.info()), from: 2, &link)
      for _ in 1...2 { receive(.pong, from: 2, &link) }
      _ = link.takeEffects()
      link.settle(reply, isTaken: isTaken)
      #expect(link.takeEffects().sends.isEmpty)
      func isSettled(_ bytes: ByteBuffer) -> Bool {
        String(buffer: bytes).contains(
          isTaken ? "PUB \(reply) 4\r\n+ACK" : "PUB \(reply) 25\r\n-NAK")
      }
      // A relay that ends now does so on the first server.
      var ended = link
      let last = try #require(ended.stop().last)
      #expect(last.0 === first && isSettled(last.1))
      // The first answer is to an earlier ping.
      for _ in 1...2 { receive(.pong, from: 1, &link) }
      let sent = link.takeEffects().sends.filter { $0.connection === second }
      #expect(sent.contains { isSettled($0.bytes) })
    }

    @Test("R1 The answer to the first attempt to leave a server does not confirm what came later")
    func secondAttempt() {
      var link = link
      for _ in 1...2 { receive(.pong, from: 2, &link) }
      #expect(effects(&link).sent == ["1: PING", "2: PING"])
      link.handle(.closed(nil), of: 2)
      link.perform([.post(subject: "a"), .flush(7)])
      #expect(effects(&link).sent == ["1: HPUB a", "1: PING"])
      // All others have been tried: one second goes by before they are tried again.
      for _ in 1...2 { link.tick() }
      #expect(link.takeEffects().connects.map(\.number) == [3])
      link.handle(.connected(NATSConnection(EmbeddedChannel())), of: 3)
      receive(.info(Self.info()), from: 3, &link)
      for _ in 1...2 { receive(.pong, from: 3, &link) }
      #expect(effects(&link).sent == ["1: PING", "2: PING", "2: PING"])
      // The first server has not read what was posted.
      receive(.pong, from: 1, &link)
      #expect(effects(&link).closed == [])
      #expect(!link.session.outbox.isEmpty)
      receive(.pong, from: 1, &link)
      #expect(effects(&link).closed == [])
      #expect(link.session.outbox.isEmpty)
      receive(.pong, from: 1, &link)
      #expect(effects(&link).closed == [1])
    }

    @Test("R6 A first server that says nothing more is left after seconds")
    func firstIsSilent() {
      var link = link
      for _ in 1...2 { receive(.pong, from: 2, &link) }
      #expect(effects(&link).sent == ["1: PING", "2: PING"])
      for _ in 1...2 { link.tick() }
      #expect(effects(&link).closed == [])
      link.tick()
      #expect(effects(&link).closed == [1])
      link.perform([.post(subject: "a", version: 0, path: [], payload: [])])
      #expect(effects(&link).sent == ["2: HPUB a", "2: PING"])
    }

    @Test("R6 A second server that says nothing more after it accepted the relay holds nothing up")
    func secondIsSilent() {
      var link = link
      receive(.pong, from: 2, &link)
      link.perform([.subscribe("x"), .flush(7)])
      #expect(effects(&link).sent == ["2: PING"])
      for _ in 1...5 { link.tick() }
      #expect(effects(&link) == ([], []))
      link.tick()
      let (sent, closed) = effects(&link)
      #expect(sent == ["1: PING", "1: SUB x "])
      #expect(closed == [2])
    }

    @Test("If the first server ends early, the second one takes its place at once")
    func endsEarly() {
      var link = link
      receive(.pong, from: 2, &link)
      link.perform([
        .post(subject: "a", version: 0, path: [], payload: []), .subscribe("x"),
      ])
      link.handle(.closed(nil), of: 1)
      #expect(effects(&link).sent == ["2: HPUB a", "2: PING", "2: PING", "2: SUB x "])
      #expect(link.session.server != nil)
    }

    @Test("Requests are taken until the second server knows that they have ended")
    func endsEarlyWithAnswers() {
      var link = link
      link.perform([.answer("q")])
      receive(.pong, from: 2, &link)
      link.perform([.stopAnswering("q")])
      link.handle(.closed(nil), of: 1)
      #expect(effects(&link).sent == ["2: PING", "2: PING"])
      #expect(requests(after: .pong, reply: "r.1", from: 2, &link) == 1)
      #expect(requests(after: .pong, reply: "r.2", from: 2, &link) == 0)
    }

    @Test("Told to connect again, it leaves the second server, too")
    func reconnecting() {
      var link = link
      receive(.pong, from: 2, &link)
      _ = link.takeEffects()
      link.reconnect()
      let effects = link.takeEffects()
      #expect(effects.closes.map { $0 === second } == [true, false])
      #expect(effects.connects.map(\.number) == [3])
      #expect(link.session.server == nil)
    }

    /// Lets the second server send five megabytes of messages, in five parts.
    private func receiveMuch(_ link: inout LinkState) {
      let message = ServerMessage(subject: "x", sid: 10, reply: nil, headers: .none, payload: [])
      for _ in 1...4 {
        link.handle(.frames([.messages([message])], byteCount: 1_000_000, .init()), of: 2)
      }
      let effects = link.takeEffects()
      #expect(effects.closes.isEmpty && effects.messageCount == 0)
      link.handle(.frames([.messages([message])], byteCount: 1_000_000, .init()), of: 2)
    }

    @Test("R6 The second server is not read until the first one has sent its rest")
    func holdsMuch() {
      var link = link
      link.perform([.subscribe("x")])
      for _ in 1...2 { receive(.pong, from: 2, &link) }
      #expect(effects(&link).sent == ["1: PING", "2: PING", "2: SUB x "])
      #expect(!second.reads)
      // What has been read before waits.
      receiveMuch(&link)
      for reads in [false, true] {
        for connection in link.setReading(reads) { connection.setReading(reads) }
        #expect(!second.reads)
      }
      // Another thread applies late what was wanted before.
      second.setReading(true)
      receive(.ok, from: 2, &link)
      #expect(!second.reads)
      #expect(effects(&link) == ([], []))
      receive(.pong, from: 1, &link)
      let effects = link.takeEffects()
      #expect(effects.closes.map { $0 === first } == [true])
      #expect(effects.messageCount == 5)
      #expect(second.reads)
    }

    @Test("R6 A second server that waits for the first one is not left as if it were silent")
    func heldBack() throws {
      let stage = try Self(pingInterval: 1)
      var link = stage.link
      link.perform([.subscribe("x")])
      for _ in 1...2 { stage.receive(.pong, from: 2, &link) }
      _ = link.takeEffects()
      stage.receiveMuch(&link)
      for _ in 1...3 {
        stage.receive(.ping, from: 1, &link)
        link.tick()
      }
      let effects = link.takeEffects()
      #expect(effects.closes.map { $0 === stage.first } == [true])
      #expect(effects.messageCount == 5)
    }

    @Test("A long message is waited for, and what else arrives does not hide that a pull is gone")
    func longMessage() throws {
      let stage = try Self(pingInterval: 100)
      var link = try stage.pulling()
      for _ in 1...50 {
        stage.receive(from: 1, &link)
        link.tick()
        #expect(link.session.isReady)
      }
      for _ in 1...20 {
        stage.receive(from: 1, &link)
        stage.receive(.ok, from: 1, &link)
        stage.receive(from: 1, &link)
        link.tick()
      }
      #expect(!link.session.isReady)
    }

    @Test("R6 A relay that takes nothing does not read the second server after the first has gone")
    func takesNothing() {
      var link = link
      receive(.pong, from: 2, &link)
      for connection in link.setReading(false) { connection.setReading(false) }
      link.handle(.closed(nil), of: 1)
      #expect(link.session.server != nil)
      #expect(!second.reads)
    }

    @Test("R6 If the second server sends much before it confirms anything, the first one is left")
    func holdsMuchTooEarly() {
      var link = link
      link.perform([.subscribe("x")])
      receive(.pong, from: 2, &link)
      _ = link.takeEffects()
      receiveMuch(&link)
      let effects = link.takeEffects()
      #expect(effects.closes.map { $0 === first } == [true])
      #expect(effects.messageCount == 5)
      #expect(second.reads)
    }

    @Test("A second server that sends much before it accepts the relay does not get the relay")
    func muchBeforeAccepting() {
      var link = link
      for _ in 1...5 { link.handle(.frames([.ok], byteCount: 1_000_000, .init()), of: 2) }
      #expect(link.takeEffects().closes.isEmpty)
      #expect(link.session.server != nil)
    }

    @Test("A relay whose servers were mistaken connects to others")
    func mistakenServers() throws {
      var configuration = NATSConfiguration()
      configuration.mistake = "There is no such server."
      // They have nothing in common, so each may forward what another one has received.
      #expect(configuration.step != configuration.step)
      var link = LinkState(NATSSession(id: 0xAB, name: "me", processID: 1), configuration)
      link.connect()
      let effects = link.takeEffects()
      #expect(effects.connects.isEmpty && effects.wait == nil && effects.incidents.count == 1)
      link.reconnect(to: try NATSConfiguration(servers: "nats://c:1"))
      #expect(link.takeEffects().connects.map(\.address.host) == ["c"])
    }

    @Test("If the first server ends before the second one is open, that one is waited for")
    func endsBefore() {
      var link = link
      link.handle(.closed(nil), of: 1)
      #expect(link.session.server == nil)
      link.perform([.subscribe("x")])
      receive(.pong, from: 2, &link)
      #expect(effects(&link).sent == ["2: SUB x "])
      #expect(link.session.server != nil)
    }
  }

  @Suite("What has been read of a connection and not taken")
  struct BacklogTests {
    @Test("R6 Nothing more is read while four megabytes wait, or while the relay takes nothing")
    func limit() {
      let connection = NATSConnection()
      for _ in 1...4 { connection.arrived(1 << 20) }
      #expect(connection.reads)
      connection.arrived(1)
      #expect(!connection.reads)
      connection.setReading(false)
      connection.taken(4 << 20)
      #expect(!connection.reads)
      connection.setReading(true)
      #expect(connection.reads)
    }

    @Test("R6 Nothing more is read of a server that does not read the answers")
    func unwritten() {
      let connection = NATSConnection()
      // All posts that may be unconfirmed do not count as too much.
      connection.sent(8 << 20)
      #expect(connection.reads)
      for _ in 1...100_000 { connection.sent(5) }
      #expect(!connection.reads)
      connection.written(8 << 20)
      for _ in 1...100_000 { connection.written(5) }
      #expect(connection.reads)
    }
  }

  @Suite("How a link connects again when it is asked to")
  struct ReconnectTests {
    private var link: LinkState
    private let first = NATSConnection(EmbeddedChannel())

    /// A link that is connected to the first of two servers.
    init() throws {
      var configuration = try NATSConfiguration(servers: "nats://a:1,nats://b:1")
      configuration.shufflesServers = false
      link = LinkState(NATSSession(id: 0xAB, name: "me", processID: 1), configuration)
      link.connect()
      link.handle(.connected(first), of: 1)
      var info = ServerInfo()
      info.hasHeaders = true
      link.handle(.frames([.info(info), .pong], byteCount: 0, .init()), of: 1)
      _ = link.takeEffects()
    }

    /// Opens a connection, and returns what is published on it.
    private func open(_ number: Int, _ link: inout LinkState) -> [String] {
      var info = ServerInfo()
      info.hasHeaders = true
      link.handle(.connected(NATSConnection(EmbeddedChannel())), of: number)
      link.handle(.frames([.info(info), .pong], byteCount: 0, .init()), of: number)
      return link.takeEffects().sends.flatMap { _, bytes in
        String(buffer: bytes).split(separator: "\r\n")
          .filter { $0.hasPrefix("HPUB") || $0.hasPrefix("SUB x") }.map(String.init)
      }
    }

    @Test("R6 Few bytes that are sent after many take little memory")
    func littleAfterMuch() {
      var link = link
      let payload = [UInt8](repeating: 0, count: 150_000)
      link.perform([.post(subject: "a", payload: payload)])
      #expect(link.takeEffects().sends.count == 1)
      for round in 1...3 {
        link.perform([.post(subject: "a")])
        let sizes = link.takeEffects().sends.map(\.bytes.capacity)
        #expect(round == 1 || sizes == [sizes[0]] && sizes[0] < 10_000)
      }
    }

    @Test("It leaves the server for the other one, and sends what was not confirmed again")
    func leaves() {
      var link = link
      link.perform([.subscribe("x"), .post(subject: "a")])
      _ = link.takeEffects()
      link.perform([.post(subject: "b"), .flush(7)])
      link.reconnect()
      link.perform([.post(subject: "c")])
      let effects = link.takeEffects()
      #expect(effects.sends.isEmpty)
      #expect(effects.closes.map { $0 === first } == [true])
      #expect(effects.connects.map(\.address.description) == ["nats://b:1"])
      guard case .disconnected("", isInterruption: true)? = effects.incidents.last else {
        Issue.record("\(effects.incidents)")
        return
      }
      // What the first server still sends is not heard.
      link.handle(.frames([.pong], byteCount: 0, .init()), of: 1)
      link.handle(.closed(nil), of: 1)
      let sent = open(2, &link).map { String($0.prefix(6)) }
      #expect(sent == ["SUB x ", "HPUB a", "HPUB b", "HPUB c"])
      #expect(!link.session.outbox.isEmpty)
      link.handle(.frames([.pong], byteCount: 0, .init()), of: 2)
      #expect(link.session.outbox.isEmpty)
      let incidents = link.takeEffects().incidents
      #expect(incidents.contains { if case .flushed(7) = $0 { true } else { false } })
    }

    @Test("A name that was denied is asked for again when the relay is asked to connect again")
    func deniedBefore() {
      var link = link
      link.perform([.subscribe("x.1"), .subscribe("x.2"), .answer("x.3")])
      _ = link.takeEffects()
      for subject in ["x.1", "x.2", "x.3"] {
        link.session.denied(.init(kind: .subscribing, subject: subject, text: "no"))
      }
      link.perform([.unsubscribe("x.2")])
      link.handle(.closed(nil), of: 1)
      _ = link.takeEffects()
      #expect(open(2, &link) == [])
      for _ in 1...3 { link.tick() }
      link.reconnect()
      _ = link.takeEffects()
      #expect(open(3, &link).map { String($0.prefix(7)) } == ["SUB x.1", "SUB x.3"])
      for _ in 1...3 { link.tick() }
      link.handle(.closed(nil), of: 3)
      _ = link.takeEffects()
      #expect(open(4, &link).map { String($0.prefix(7)) } == ["SUB x.1", "SUB x.3"])
    }

    @Test("A connection that is reset, or not answered, is an interruption, and others are not")
    func interruptions() {
      func ends(_ effects: LinkState.Effects) -> [String] {
        effects.incidents.compactMap {
          guard case .disconnected(let reason, let isInterruption) = $0 else { return nil }
          return "\(reason) \(isInterruption)"
        }
      }
      var link = link
      link.handle(.closed("Connection reset by peer"), of: 1)
      #expect(ends(link.takeEffects()) == ["nats://a:1: Connection reset by peer true"])
      link.handle(.closed("no"), of: 2)
      #expect(ends(link.takeEffects()) == ["nats://b:1: no false"])
      link = self.link
      var reasons: [String] = []
      for _ in 1...30 {
        link.tick()
        reasons += ends(link.takeEffects())
      }
      #expect(reasons.map { $0.hasSuffix(" true") } == [true])
      // A server that ends each connection at once is as good as none.
      link = self.link
      for number in 1...2 {
        if number > 1 { _ = open(number, &link) }
        link.handle(.closed("Connection reset by peer"), of: number)
        reasons = ends(link.takeEffects())
      }
      #expect(reasons == ["nats://b:1: Connection reset by peer false"])
      link = self.link
      for number in 1...2 {
        if number > 1 { _ = open(number, &link) }
        link.handle(.closed(nil), of: number)
        reasons = ends(link.takeEffects())
      }
      #expect(reasons == ["nats://b:1: The server ends each connection at once. false"])
    }

    @Test("Servers that accept the relay and then end the connection are tried after a pause")
    func shortConnections() {
      var link = link
      link.handle(.closed(nil), of: 1)
      // One end means nothing.
      #expect(link.takeEffects().connects.count == 1)
      for number in 2...20 {
        _ = open(number, &link)
        link.handle(.closed(nil), of: number)
        let effects = link.takeEffects()
        #expect(effects.connects.isEmpty)
        guard let wait = effects.wait else {
          Issue.record("there is no pause")
          return
        }
        #expect(1...2_000 ~= wait.milliseconds)
        link.waited(wait.number)
        #expect(link.takeEffects().connects.count == 1)
      }
      _ = open(21, &link)
      for _ in 1...3 { link.tick() }
      link.handle(.closed(nil), of: 21)
      #expect(link.takeEffects().connects.count == 1)
    }

    @Test(
      "While it connects or waits, it tries the next server at once; at last, it does nothing")
    func otherwise() {
      var link = link
      link.reconnect()
      _ = link.takeEffects()
      // The server may have been told how the relay authenticated before.
      let connection = NATSConnection(EmbeddedChannel())
      link.handle(.connected(connection), of: 2)
      link.reconnect()
      let effects = link.takeEffects()
      #expect(effects.closes.map { $0 === connection } == [true])
      #expect(effects.connects.map(\.number) == [3])
      link.handle(.closed("no"), of: 3)
      #expect(link.takeEffects().wait != nil)
      link.reconnect()
      #expect(link.takeEffects().connects.count == 1)
      _ = link.stop()
      link.reconnect()
      #expect(link.takeEffects().connects.isEmpty)
    }

    @Test("Asked often during an outage, it waits once at a time")
    func pauses() throws {
      var link = link
      link.handle(.closed("no"), of: 1)
      var (number, numbers) = (2, [Int]())
      for _ in 1...20 {
        // Each attempt fails; then there is a pause.
        var effects = link.takeEffects()
        while effects.wait == nil {
          link.handle(.closed("no"), of: number)
          number += 1
          effects = link.takeEffects()
        }
        numbers.append(effects.wait?.number ?? 0)
        link.reconnect()
      }
      var last = link.takeEffects().wait
      while last == nil, number < 100 {
        link.handle(.closed("no"), of: number)
        number += 1
        last = link.takeEffects().wait
      }
      for pause in numbers {
        link.waited(pause)
        #expect(link.takeEffects().connects.isEmpty)
      }
      link.waited(try #require(last).number)
      #expect(link.takeEffects().connects.count == 1)
    }

    @Test("With another list, it leaves for a server of that, and authenticates as that says")
    func otherServers() throws {
      var link = link
      link.perform([.subscribe("x"), .post(subject: "a")])
      _ = link.takeEffects()
      link.reconnect(to: try NATSConfiguration(servers: "nats://me:secret@c:1, nats://d:1"))
      var effects = link.takeEffects()
      #expect(effects.closes.map { $0 === first } == [true])
      #expect(effects.connects.map(\.address.description) == ["nats://c:1"])
      // One that is being opened is left too, and those before are never tried again.
      link.reconnect(to: try NATSConfiguration(servers: "nats://d:1,nats://e:1"))
      effects = link.takeEffects()
      #expect(effects.connects.map(\.address.description) == ["nats://d:1"])
      #expect(effects.incidents.isEmpty)
      let late = NATSConnection(EmbeddedChannel())
      link.handle(.connected(late), of: 2)
      #expect(link.takeEffects().closes.map { $0 === late } == [true])
      link.handle(.closed("no"), of: 3)
      #expect(link.takeEffects().connects.map(\.address.description) == ["nats://e:1"])
      link.handle(.connected(NATSConnection(EmbeddedChannel())), of: 4)
      var info = ServerInfo()
      info.hasHeaders = true
      link.handle(.frames([.info(info)], byteCount: 0, .init()), of: 4)
      effects = link.takeEffects()
      let greeting = effects.sends.map { String(buffer: $0.bytes) }.joined()
      #expect(greeting.contains("\"user\":\"me\"") && greeting.contains("\"pass\":\"secret\""))
      link.handle(.frames([.pong], byteCount: 0, .init()), of: 4)
      let sent = link.takeEffects().sends.map { String(buffer: $0.bytes) }.joined()
      #expect(sent.contains("SUB x ") && sent.contains("HPUB a "))
      _ = link.stop()
      link.reconnect(to: try NATSConfiguration(servers: "nats://f:1"))
      #expect(link.takeEffects().connects.isEmpty)
    }

    @Test("R6 However many and long the reasons of servers are, few and short ones are kept")
    func manyReasons() throws {
      var link = link
      link.handle(.closed("no"), of: 1)
      var reported = 0
      for round in 1...500 {
        let effects = link.takeEffects()
        if let wait = effects.wait { link.waited(wait.number) }
        for case .disconnected(let reason, _) in effects.incidents {
          reported += 1
          #expect(reason.utf8.count <= 3_000)
        }
        for connect in effects.connects {
          link.handle(
            .closed("\(round)" + String(repeating: "\u{301}", count: 10_000)), of: connect.number)
        }
      }
      #expect(reported > 100)
      #expect(link.reported.count <= 100)
      #expect(link.reported.allSatisfy { $0.utf8.count <= 3_000 })
    }

    @Test("Servers that others report are tried, unless only the given ones are")
    func reported() throws {
      for usesReported in [true, false] {
        var configuration = try NATSConfiguration(servers: "nats://a:1")
        configuration.usesReportedServers = usesReported
        var link = LinkState(NATSSession(id: 0xAB, name: "me", processID: 1), configuration)
        link.connect()
        link.handle(.connected(first), of: 1)
        var info = ServerInfo()
        (info.hasHeaders, info.others) = (true, ["b:1"])
        link.handle(.frames([.info(info), .pong], byteCount: 0, .init()), of: 1)
        _ = link.takeEffects()
        link.reconnect()
        #expect(
          link.takeEffects().connects.map(\.address.description) == [
            "nats://\(usesReported ? "b" : "a"):1"
          ])
      }
    }
  }
#endif
