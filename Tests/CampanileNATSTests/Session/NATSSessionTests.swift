#if NATS
  import CampanileRelay
  import CampanileTesting
  import NIOCore
  import TestSupport
  import Testing

  @testable import CampanileNATS

  extension NATSSession {
    mutating func perform(_ operation: RelayOperation) { perform([operation]) }
  }

  @Suite("What a relay does on NATS, without a server")
  struct NATSSessionTests {
    private var session = NATSSession(id: 0xAB, name: "me", processID: 1)

    private func connected(_ durable: DurableOptions? = nil) -> NATSSession {
      var session = session
      if let durable { session = NATSSession(id: 0xAB, name: "me", processID: 1, durable: durable) }
      var info = ServerInfo()
      info.maxPayload = 1_000
      session.connected(info)
      session.incidents = []
      session.output.clear()
      return session
    }

    private func post(_ subject: String, bytes: Int = 0) -> RelayOperation {
      .post(
        subject: subject, version: 3, path: [1], payload: [UInt8](repeating: 0x78, count: bytes))
    }

    /// What is written without pings, and the mark of the last ping.
    private func written(_ session: inout NATSSession) -> (text: String, mark: UInt64?) {
      let mark = writeAll(&session).last
      defer { session.output.clear() }
      let text = String(buffer: session.output)
      return (text.split(separator: "PING\r\n").joined(), mark)
    }

    /// Writes all that may be written, and returns the marks of the pings.
    private func writeAll(_ session: inout NATSSession) -> [UInt64] {
      var marks: [UInt64] = []
      while true {
        let (pings, goesOn) = session.write()
        marks += pings
        if !goesOn { return marks }
      }
    }

    private func message(
      _ subject: String, sid: UInt64 = 10, reply: String? = nil, _ envelope: String? = nil
    ) -> ServerMessage {
      let headers = envelope.map { "NATS/1.0\r\nCampanile: \($0)\r\n\r\n" } ?? ""
      return ServerMessage(
        subject: subject, sid: sid, reply: reply, headers: HeaderBlock(bytes: Array(headers.utf8)),
        payload: [])
    }

    /// What the relay is told, in short.
    private func told(_ session: inout NATSSession) -> [String] {
      defer { session.incidents = [] }
      return session.incidents.compactMap { incident in
        switch incident {
        case .message(let sender, let subject, _, _, _): "message \(subject) of \(sender)"
        case .awaited(let group?, let sender, let subject, _, _, _, _):
          "shared \(subject) of \(sender) in \(group)"
        case .awaited(nil, let sender, let subject, _, _, _, _): "message \(subject) of \(sender)"
        case .request(_, _, let subject, _, _): "request \(subject)"
        case .reply(let correlation, let status, _): "reply \(correlation) \(status)"
        case .flushed(let token): "flushed \(token)"
        case .lost(_, let subject, let count, _): "lost \(count ?? 0) \(subject ?? "")"
        case .refused(let subject, _): "refused \(subject)"
        case .denied(let subject, _): "denied \(subject ?? "")"
        case .disconnected: "disconnected"
        default: nil
        }
      }
    }

    @Test(
      "A subject that a server would ignore, cut or take for others is refused",
      arguments: ["a..b", "a b", "*", "a.>", "", "a\r\nPUB b 0"])
    func subjects(subject: String) {
      var session = connected()
      session.perform(post(subject))
      #expect(written(&session).text == "")
      #expect(told(&session) == ["refused \(subject)"])
      session.perform(
        .request(correlation: 1, subject: subject, version: 0, payload: [], milliseconds: 1))
      #expect(told(&session) == ["reply 1 refused"])
      #expect(written(&session).text == "")
    }

    @Test("R6 R7 Without a connection, too, a name that no server takes is refused, and not kept")
    func refusedAtOnce() {
      var session = NATSSession(id: 0xAB, name: "me", processID: 1, limit: 10_000)
      let long = String(repeating: "n", count: 4_000)
      var posts = RelayPosts()
      for subject in ["a", long, "b"] {
        posts.append(RelayPosts.Heading(subject: subject, version: 0), [0x78])
      }
      session.perform(.posts(posts))
      for number in 1...100 { session.perform(post("\(long)\(number)")) }
      #expect(told(&session) == ["refused \(long)"] + (1...100).map { "refused \(long)\($0)" })
      session.connected(ServerInfo())
      let text = written(&session).text
      #expect(text.ranges(of: "HPUB ").count == 2)
      #expect(text.contains("HPUB a ") && text.contains("HPUB b "))
      #expect(session.outbox.numbers.all == ["a": 1, "b": 1])
    }

    @Test("A message has one header, and a ping confirms it")
    func posting() {
      var session = connected()
      session.perform(post("a", bytes: 1))
      session.perform(.flush(5))
      let (text, mark) = written(&session)
      #expect(
        text == "HPUB a 38 39\r\nNATS/1.0\r\nCampanile: ab 1 1 3 me 1\r\n\r\nx\r\n")
      #expect(mark == 2)
      session.confirmed(2)
      #expect(told(&session) == ["flushed 5"])
    }

    @Test("The server confirms while more is sent")
    func severalPings() {
      var session = connected()
      for _ in 1...1_000 { session.perform(post("a", bytes: 900)) }
      session.perform(.flush(5))
      let marks = writeAll(&session)
      #expect(marks.count == 4)
      #expect(marks == marks.sorted())
      #expect(marks.last == 1_001)
      let text = String(buffer: session.output)
      #expect(text.split(separator: "PING\r\n").count == 4)
      #expect(text.hasSuffix("PING\r\n"))
      for mark in marks {
        #expect(told(&session) == [])
        session.confirmed(mark)
      }
      #expect(told(&session) == ["flushed 5"])
      #expect(session.outbox.isEmpty)
      #expect(writeAll(&session).isEmpty)
    }

    @Test("What is longer than the server takes is refused, by the limit of the present server")
    func limits() {
      var session = connected()
      session.perform(post("a", bytes: 990))
      #expect(written(&session).text == "")
      #expect(told(&session) == ["refused a"])
      session.perform(
        .request(
          correlation: 1, subject: "a", version: 0, payload: [UInt8](repeating: 0, count: 990),
          milliseconds: 1))
      #expect(written(&session).text == "")
      #expect(told(&session) == ["reply 1 refused"])
      var info = ServerInfo()
      info.maxPayload = 2_000
      session.updated(info)
      session.perform(post("a", bytes: 990))
      #expect(written(&session).text.hasPrefix("HPUB a"))
    }

    @Test(
      "R3 R7 Doubles, echoes and requests are not heard as messages, and gaps are counted",
      arguments: [true, false])
    func hearing(together: Bool) {
      var session = connected()
      session.perform(.subscribe("a.>"))
      let messages = [
        message("a.b", "1 1 1 0 n -"), message("a.b", "1 1 1 0 n -"),
        message("a.b", "ab 7 1 0 me -"), message("a.b", reply: "r", "1 0 0 0 n -"),
        message("a.b", "1 4 1 0 n -"), message("a.b"), message("a.b", sid: 99, "1 5 1 0 n -"),
      ]
      if together {
        session.received(messages)
      } else {
        for message in messages { session.received(message) }
      }
      #expect(
        told(&session) == [
          "message a.b of 1", "lost 2 a.b", "message a.b of 1", "message a.b of 0",
        ])
      session.perform(.unsubscribe("a.>"))
      session.received([message("a.b", "1 5 1 0 n -")])
      #expect(told(&session) == [])
      #expect(written(&session).text.hasSuffix("UNSUB 10\r\n"))
    }

    @Test("Who listens to everything is not told what relays and servers tell each other")
    func everything() {
      var session = connected()
      session.perform(.subscribe(">"))
      let subjects = ["_INBOX.x.1", "_campanile.here", "$JS.API.INFO", "_other"]
      session.received(subjects.flatMap { [message($0), message($0)] })
      #expect(told(&session) == ["message _other of 0", "message _other of 0"])
    }

    @Test("Who listens to everything is not told what comes to an inbox of another name")
    func otherInboxes() {
      var session = NATSSession(id: 0xAB, name: "me", processID: 1, inboxPrefix: "_IN_alice")
      session.connected(ServerInfo())
      session.perform(.subscribe(">"))
      _ = told(&session)
      session.received([message("_IN_alice.x.1"), message("_IN_alicea")])
      #expect(told(&session) == ["message _IN_alicea of 0"])
    }

    @Test("One of a group hears what no other one does, and counts no gaps")
    func group() {
      var session = connected()
      session.perform(.subscribe("a", group: "my group"))
      session.perform(.subscribe("a"))
      #expect(written(&session).text == "SUB a my%20group 10\r\nSUB a 11\r\n")
      session.received([
        message("a", sid: 10, "1 3 1 0 n -"), message("a", sid: 10, "1 9 1 0 n -"),
        message("a", sid: 11, "1 3 1 0 n -"), message("a", sid: 10, "ab 1 1 0 me -"),
        message("a", sid: 10),
      ])
      #expect(
        told(&session) == [
          "shared a of 1 in my group", "shared a of 1 in my group", "message a of 1",
          "shared a of 0 in my group",
        ])
      session.perform(.unsubscribe("a", group: "my group"))
      #expect(written(&session).text == "UNSUB 10\r\n")
      // Whoever drains leaves its groups, also on the next connection.
      session.perform(.subscribe("b", group: "g"))
      session.perform(.endHearing)
      #expect(written(&session).text == "SUB b g 12\r\nUNSUB 12\r\n")
      session.disconnected("")
      session.connected(ServerInfo())
      #expect(!written(&session).text.contains("SUB b "))
    }

    @Test("R4 A stream gives a message to one of a group, which acknowledges it or gives it back")
    func storedGroup() throws {
      var session = connected(DurableOptions(stream: "S", subjects: [], replicas: 1))
      session.perform(.subscribe("a", group: "g"))
      #expect(!session.isReady)
      func request() throws -> Substring {
        let text = written(&session).text
        let line = try #require(text.split(separator: "\r\n").last { $0.hasPrefix("PUB $JS") })
        return line.split(separator: " ")[2].dropFirst(session.inbox.count)
      }
      for json in [#"{"created":"1","state":{"last_seq":10}}"#, "{}"] {
        let token = try #require(session.seal.opened(try request()))
        answer(&session, String(token), json)
      }
      #expect(session.isReady)
      let pull = written(&session).text
      #expect(pull.contains("CONSUMER.MSG.NEXT.S.g-") && pull.contains(#""batch":16"#))
      let consumer =
        try #require(pull.split(separator: " ").first { $0.contains(".NEXT.") })
        .split(separator: ".").last ?? ""
      // Its own message may come again before another relay of the group gets it.
      for (number, sender, answer) in [(11, 1, "+ACK"), (12, 0xAB, "-NAK"), (12, 0xAB, "-NAK")] {
        let place = "$JS.ACK.S.\(consumer).1.\(number).\(number).0.0"
        let settled = Recorder<Bool>()
        session.whenSettled = { [place] in
          #expect($0 == place)
          settled.record($1)
        }
        session.received(
          message("a", sid: 10, reply: place, "\(String(sender, radix: 16)) 1 1 0 n -"))
        for case .awaited(_, _, _, _, _, _, let done) in session.incidents { done(true) }
        #expect(settled.values == [sender == 1])
        #expect(told(&session) == (sender == 1 ? ["shared a of 1 in g"] : []))
        session.settle(place, isTaken: settled.values == [true])
        let text = self.written(&session).text
        #expect(text.contains("PUB \(place) ") && text.contains("\r\n\(answer)"))
      }
      // The stream has missed the acknowledgment of the first one.
      let place = "$JS.ACK.S.\(consumer).2.11.13.0.0"
      session.received(message("a", sid: 10, reply: place, "1 1 1 0 n -"))
      #expect(told(&session).isEmpty)
      #expect(written(&session).text.contains("PUB \(place) 4\r\n+ACK"))
    }

    @Test("R4 A stream is told every three seconds what is still being delivered")
    func stillDelivered() throws {
      var session = connected(
        DurableOptions(stream: "S", subjects: [], replicas: 1, consumer: "me"))
      let place = "$JS.ACK.S.me.1.11.1.0.0"
      _ = session.durable?.deliveries.hear(try #require(StreamPlace(place)), isWanted: true)
      func count(_ word: String) -> Int {
        for _ in 1...6 { session.tick(isReading: false) }
        return written(&session).text.ranges(of: "PUB \(place) 4\r\n\(word)\r\n").count
      }
      #expect(count("+WPI") == 2)
      session.settle(place, isTaken: true)
      #expect(count("+ACK") == 1)
      #expect(count("+WPI") == 0)
    }

    @Test("Those who answer share the requests, and each is answered where it says")
    func requests() {
      var session = connected()
      session.perform(.answer("a"))
      #expect(written(&session).text == "SUB a _campanile 10\r\n")
      session.received(message("a", sid: 10, reply: "r.1"))
      // A message without a place for an answer is no request.
      session.received(message("a", sid: 10))
      #expect(told(&session) == ["request a"])
      session.perform(.reply(to: 0, correlation: 1, .failed, payload: Array("no\r\nA: b".utf8)))
      session.perform(.reply(to: 0, correlation: 1, .answered, payload: []))
      #expect(written(&session).text.contains("Nats-Service-Error: no  A: b\r\n"))
      #expect(written(&session).text == "")
      // By the rules of NATS, a header has only ASCII; the payload has it all.
      session.received(message("a", sid: 10, reply: "r.2"))
      #expect(told(&session) == ["request a"])
      session.perform(.reply(to: 0, correlation: 2, .failed, payload: Array("zu spät\u{7F}!".utf8)))
      let refusal = written(&session).text
      #expect(refusal.contains("Nats-Service-Error: zu sp?t?!\r\n"))
      #expect(refusal.hasSuffix("\r\n\r\nzu spät\u{7F}!\r\n"))
    }

    @Test("Answers come to requests that are open, and the end of the connection ends them")
    func answers() {
      var session = connected()
      for number in 1...3 {
        session.perform(
          .request(
            correlation: UInt64(number), subject: "q", version: 0, payload: [], milliseconds: 100))
      }
      #expect(written(&session).text.contains("HPUB q \(session.answerSubject(2)) "))
      session.received(message(session.answerSubject(1), sid: NATSSession.inboxSid))
      session.received(message(session.answerSubject(1), sid: NATSSession.inboxSid))
      session.received(message("_INBOX.other.2", sid: NATSSession.inboxSid))
      // Whoever has seen where one request is answered does not know it of the next one.
      let seal = session.answerSubject(1).suffix(16)
      session.received(message("\(session.inbox)2x\(seal)", sid: NATSSession.inboxSid))
      // That the server has a request does not keep it open.
      session.confirmed(2)
      session.disconnected("")
      #expect(
        told(&session) == [
          "reply 1 answered", "reply 2 disconnected", "reply 3 disconnected", "disconnected",
        ])
    }

    @Test("The longest name and the longest prefix of inboxes make a line that servers take")
    func longestLine() {
      var session = NATSSession(
        id: .max, name: "me", processID: 1,
        inboxPrefix: String(repeating: "p", count: NATSSubject.prefixLimit),
        durable: DurableOptions(stream: "S", subjects: [], replicas: 1))
      var info = ServerInfo()
      info.maxPayload = 64 << 20
      session.connected(info)
      let name = String(repeating: "n", count: NATSSubject.limit)
      session.perform(post(name, bytes: 1 << 20))
      session.perform(
        .request(correlation: .max, subject: name, version: 0, payload: [], milliseconds: 1_000))
      for _ in 1...5 { session.tickDurable() }
      let lines = written(&session).text.split(separator: "\r\n")
      #expect(lines.count { $0.hasPrefix("HPUB \(name)") } == 2)
      // A server takes 4,096 bytes in a line, if its operator has not set `max_control_line`.
      #expect(lines.filter { !$0.hasPrefix("x") }.allSatisfy { $0.utf8.count < 4_000 })
    }

    @Test("A request that was given up is not sent, though posts before it have been sent again")
    func requestBehindPosts() {
      var session = NATSSession(id: 0xAB, name: "me", processID: 1, limit: 3_000)
      var info = ServerInfo()
      info.maxPayload = 1_000
      session.connected(info)
      session.perform(post("x", bytes: 900))
      _ = written(&session)
      for subject in ["y", "z"] { session.perform(post(subject, bytes: 900)) }
      session.perform(
        .request(correlation: 1, subject: "q", version: 0, payload: [], milliseconds: 100))
      // There is no room for the first ones, so that the request waits elsewhere.
      for subject in ["u", "v", "w"] { session.perform(post(subject, bytes: 900)) }
      session.disconnected("")
      _ = told(&session)
      session.perform(.forget([1]))
      #expect(told(&session) == [])
      session.connected(info)
      let text = written(&session).text
      #expect(text.contains("HPUB w ") && !text.contains("HPUB q "))
      session.confirmed(session.outbox.sentMark)
      #expect(session.outbox.isEmpty && session.outbox.frameMemory == 0)
    }

    @Test("Requests of others may have one place for their answers")
    func sharedReply() {
      var session = connected()
      session.perform(.answer("a"))
      for _ in 1...2 { session.received(message("a", sid: 10, reply: "shared")) }
      #expect(told(&session) == ["request a", "request a"])
      for correlation in [2, 1, 1] {
        session.perform(
          .reply(to: 0, correlation: UInt64(correlation), .answered, payload: [0x30]))
      }
      #expect(written(&session).text.ranges(of: "HPUB shared ").count == 2)
    }

    @Test("An answer that takes long is sent, however many other requests are answered meanwhile")
    func slowAnswer() {
      var table = RequestTable()
      func open(_ reply: String) -> UInt64 { table.received(reply) ?? 0 }
      let slow = open("slow")
      for number in 1...RequestTable.limit * 3 { _ = table.answered(open("r\(number)")) }
      for number in 1..<RequestTable.limit { _ = open("s\(number)") }
      #expect(table.answered(slow) == "slow")
      // So many are not answered: the oldest ones have no place any more.
      let oldest = open("s") - UInt64(RequestTable.limit) + 1
      _ = open("t")
      let first = oldest + UInt64(RequestTable.excess)
      for number in [oldest, first - 1] { #expect(table.answered(number) == nil) }
      #expect(table.answered(first) == "s\(RequestTable.excess + 1)")
    }

    @Test("The relay answers its own request from another connection only while it is open")
    func ownRequests() {
      var session = connected()
      session.perform(.answer("q"))
      for number in 1...2 {
        session.perform(
          .request(
            correlation: UInt64(number), subject: "q", version: 0, payload: [],
            milliseconds: 60_000))
        _ = written(&session)
        // The server reads the first one after the relay has subscribed on the next connection.
        if number == 1 {
          session.disconnected("")
          session.connected(ServerInfo())
        }
      }
      #expect(told(&session) == ["reply 1 disconnected", "disconnected"])
      session.received(message("q", sid: 10, reply: session.answerSubject(1), "ab 0 0 1 me -"))
      #expect(told(&session) == [])
      session.received(message("q", sid: 10, reply: session.answerSubject(2), "ab 0 0 1 me -"))
      #expect(told(&session) == ["request q"])
      #expect(session.presence.list.isEmpty)
    }

    @Test("Posts to a stream that are denied end, with the flush behind them")
    func deniedStored() {
      var session = connected(DurableOptions(stream: "S", subjects: [], replicas: 1))
      for subject in ["a", "b", "a"] { session.perform(post(subject)) }
      session.perform(.flush(7))
      #expect(written(&session).text.contains("HPUB b "))
      session.denied(.init(kind: .publishing, subject: "a", text: "no"))
      #expect(told(&session) == ["denied a"])
      session.confirmed(session.outbox.sentMark)
      answer(&session, "a2", #"{"stream":"S","seq":1}"#)
      #expect(told(&session) == ["flushed 7"])
      #expect(session.outbox.isEmpty)
      // What else is denied changes nothing.
      session.perform(post("b"))
      _ = written(&session)
      #expect(session.storing == 0)
      session.storing = 2
      session.denied(.init(kind: .publishing, subject: "$JS.ACK.S.x", text: "no"))
      #expect(session.storing == 2)
      _ = told(&session)
      // What is denied again and again is reported once.
      for _ in 1...3 {
        session.denied(.init(kind: .publishing, subject: NATSSubject.presence, text: "no"))
      }
      #expect(told(&session) == ["denied \(NATSSubject.presence)"])
    }

    @Test("R6 A server that denies the same in other words each time is reported once")
    func deniedInOtherWords() {
      var session = connected()
      for number in 1...100 {
        session.denied(.init(kind: .publishing, subject: NATSSubject.presence, text: "\(number)"))
        session.denied(.init(kind: .subscribing, subject: session.inbox + "*", text: "\(number)"))
      }
      #expect(told(&session) == ["denied \(NATSSubject.presence)", "denied \(session.inbox)*"])
      #expect(session.reportedDenials.count == 2)
    }

    @Test("The sender of a message is named anew when it is no peer any more, or on a connection")
    func namedSenders() {
      var session = connected()
      session.perform(.subscribe("a"))
      var (number, names) = (0, [String]())
      func hear() {
        number += 1
        session.received([message("a", "1 \(number) 1 0 n -")])
        for case .sender(let peer) in session.takeIncidents() { names.append(peer.name) }
      }
      for count in [1, 1] {
        hear()
        #expect(names.count == count)
      }
      #expect(session.presence.list.isEmpty)
      session.received(presence("1 1 10 n"))
      hear()
      hear()
      session.received(presence("1 1 0 n"))
      hear()
      hear()
      #expect(names.count == 2)
      session.disconnected("")
      session.connected(ServerInfo())
      hear()
      #expect(names == ["n", "n", "n"])
      // Who reads nothing takes nobody for absent.
      session.received(presence("1 1 10 n"))
      for _ in 1...400 { session.tick(isReading: false) }
      #expect(!session.presence.list.isEmpty)
      for _ in 1...40 { session.tick(isReading: true) }
      #expect(session.presence.list.isEmpty)
    }

    private func presence(_ line: String) -> ServerMessage {
      ServerMessage(
        subject: NATSSubject.presence, sid: NATSSession.presenceSid, reply: nil, headers: .none,
        payload: Array(line.utf8))
    }

    @Test("An announcement is answered at an inbox, and under no name of messages")
    func announcedElsewhere() {
      var session = connected()
      for reply in ["x", "clock.tick", "_INBOX.a.here"] {
        var message = presence("1 1 10 x")
        message.reply = reply
        session.received(message)
      }
      #expect(written(&session).text.ranges(of: "PUB ").count == 1)
    }

    @Test("R7 A relay that connects again asks for the last numbers, and counts what it missed")
    func asksForNumbers() {
      var session = connected()
      session.perform(.subscribe("a"))
      session.received(message("a", "1 3 1 0 n -"))
      session.disconnected("")
      session.connected(ServerInfo())
      #expect(written(&session).text.contains("PUB _campanile.here \(session.inbox)again "))
      _ = told(&session)
      var answer = presence("1 1 10 n\n5 1 a\n9 1 b\nx 1 a\n")
      answer.sid = NATSSession.inboxSid
      answer.subject = session.inbox + "again"
      for expected in [["lost 2 a"], []] {
        session.received(answer)
        #expect(told(&session) == expected)
      }
      // The other relay has connected again, and may have sent something before.
      answer = presence("1 1 10 n")
      answer.reply = "_INBOX.n.here"
      session.received(answer)
      #expect(written(&session).text.hasPrefix("PUB _INBOX.n.here \(session.inbox)again "))
    }

    @Test("R7 A relay that connects again is told the last numbers, behind what is sent again")
    func tellsNumbers() {
      var session = connected()
      for subject in ["a", "a", "b"] { session.perform(post(subject)) }
      _ = written(&session)
      session.disconnected("")
      session.connected(ServerInfo())
      session.output.clear()
      for number in 1...100 {
        var ask = presence("\(number) 1 10 n")
        ask.reply = "_INBOX.n.again"
        session.received(ask)
      }
      let lines = written(&session).text.split(separator: "\r\n")
      let told = lines.filter { $0.contains("\n") }
      #expect(told.count == 64)
      #expect(
        told.first.map { $0.split(separator: "\n").sorted() } == ["1 1 b", "2 1 a", "ab 1 10 me"])
      let posts = lines.indices.filter { lines[$0].hasPrefix("HPUB ") }
      #expect(posts.count == 3)
      #expect(lines.firstIndex { $0.contains("\n") }! > posts.last!)
    }

    @Test("R6 However many lines announce other relays, few lists of them wait to be delivered")
    func manyAnnouncements() {
      var session = connected()
      session.perform(.subscribe("a"))
      func lists() -> [[RelayPeer]] {
        session.takeIncidents().compactMap { if case .peers(let list) = $0 { list } else { nil } }
      }
      // Its own lines are not among them.
      for id in 1...4_097 { session.received(presence("\(String(id, radix: 16)) 1 10 x")) }
      #expect(lists().map(\.count) == [4_096])
      for number in 1...1_000 {
        session.received(presence("1 1 10 \(number)"))
        session.received(message("a", "1 \(number) 1 0 n -"))
      }
      let all = lists()
      #expect(all.count == 1)
      #expect(all.last?.contains { $0.name == "1000" } == true)
    }

    @Test("The sender of a message is named before it, and peers are listed once for all arrivals")
    func announcedBefore() {
      var session = connected()
      session.perform(.subscribe("a"))
      session.received(presence("1 1 10 x"))
      session.received(message("a", "1 1 1 0 x -"))
      session.received(presence("1 1 0 x"))
      let order = session.takeIncidents().map { incident in
        switch incident {
        case .peers(let list): "\(list.count)"
        case .message: "message"
        case .sender(let peer): peer.name
        default: "other"
        }
      }
      #expect(order == ["x", "message", "0"])
    }

    @Test("R6 A relay whose name is longer than the name of any relay is not known")
    func longNames() {
      var session = connected()
      session.perform(.subscribe("a"))
      let (longest, longer) = (
        String(repeating: "x", count: 1_024), String(repeating: "x", count: 1_025)
      )
      session.received(presence("1 1 10 \(longer)"))
      session.received(message("a", "2 1 1 0 \(longer) -"))
      #expect(told(&session) == ["message a of 2"])
      #expect(session.presence.list.isEmpty)
      session.received(presence("1 1 10 \(longest)"))
      session.received(message("a", "2 2 1 0 \(longest) -"))
      #expect(session.presence.list.count == 1)
    }

    @Test("Replies do not pile up while a stream is not ready, and flushes wait")
    func notReady() {
      var session = connected(DurableOptions(stream: "S", subjects: ["x"], replicas: 1))
      session.perform(.answer("a"))
      session.perform(.flush(7))
      for number in 1...50 {
        session.received(message("a", sid: 10, reply: "r.\(number)"))
        session.perform(
          .reply(
            to: 0, correlation: UInt64(number), .answered,
            payload: [UInt8](repeating: 0, count: 900)))
        _ = written(&session)
        session.confirmed(session.outbox.sentMark)
      }
      #expect(session.outbox.frameMemory < 2_000)
      #expect(!told(&session).contains("flushed 7"))
    }

    @Test(
      "A request that is denied ends at once, with the server's words", arguments: [true, false])
    func deniedRequest(isStored: Bool) {
      var session = connected(
        isStored ? DurableOptions(stream: "S", subjects: [], replicas: 1) : nil)
      for (correlation, subject) in [(1, "a"), (2, "b"), (3, "a")] as [(UInt64, String)] {
        session.perform(
          .request(
            correlation: correlation, subject: subject, version: 0, payload: [],
            milliseconds: 60_000))
      }
      _ = written(&session)
      session.denied(.init(kind: .publishing, subject: "a", text: "no"))
      guard case .reply(1, .failed, let text)? = session.incidents.dropFirst().first else {
        Issue.record("\(session.incidents)")
        return
      }
      #expect(text == Array("no".utf8))
      #expect(told(&session) == ["denied a", "reply 1 failed", "reply 3 failed"])
      session.denied(.init(kind: .publishing, subject: "a", text: "no"))
      #expect(told(&session) == ["denied a"])
      // One that waits to be sent is not sent later.
      session.perform(
        .request(correlation: 4, subject: "a", version: 0, payload: [], milliseconds: 60_000))
      session.denied(.init(kind: .publishing, subject: "a", text: "no"))
      #expect(told(&session) == ["denied a", "reply 4 failed"])
      #expect(!written(&session).text.contains("HPUB a "))
    }

    @Test("A stream is asked once for all that is carried together")
    func carriedTogether() {
      var session = connected(DurableOptions(stream: "S", subjects: [], replicas: 1))
      session.perform((1...100).map { .subscribe("a.\($0)") } + [.flush(1)])
      #expect(written(&session).text.split(separator: "STREAM.INFO").count == 2)
    }

    @Test(
      "Of a stream whose filters are too long for a request, all is asked for",
      arguments: [(1_000, true), (100, false)])
    func longFilters(limit: Int, isSent: Bool) {
      var session = NATSSession(
        id: 0xAB, name: "me", processID: 1,
        durable: DurableOptions(stream: "S", subjects: [], replicas: 1))
      for number in 1...100 { session.perform(.subscribe("clock.alarm.\(number)")) }
      var info = ServerInfo()
      (info.maxPayload, info.version) = (limit, "2.15.1")
      session.connected(info)
      session.incidents = []
      _ = written(&session)
      answer(&session, "i1", #"{"created":"2026","state":{"last_seq":1}}"#)
      let text = written(&session).text
      #expect(text.contains("CONSUMER.CREATE.S") == isSent)
      #expect(!text.contains("filter"))
      #expect(told(&session) == (isSent ? [] : ["denied $JS.API.CONSUMER.CREATE.S.relayabn2"]))
    }

    @Test("A subscription that is denied is not asked for again")
    func denied() {
      var session = connected()
      session.perform(.subscribe("a"))
      session.perform(.subscribe("b"))
      session.denied(.init(kind: .subscribing, subject: "a", text: "no"))
      session.denied(.init(kind: .publishing, subject: "b", text: "no"))
      #expect(told(&session) == ["denied a", "denied b"])
      var output = ByteBuffer()
      session.writeSubscriptions(to: &output)
      let text = String(buffer: output)
      #expect(text.contains("SUB b "))
      #expect(!text.contains("SUB a "))
    }

    @Test(
      "A post is sent again although later ones are stored, and if whether it is stored is not known",
      arguments: ["", #"{"error":{"code":409,"err_code":10158}}"#])
    func storedAgain(answer: String) throws {
      var session = connected(DurableOptions(stream: "S", subjects: [], replicas: 1))
      for subject in ["a", "b", "c", "d"] { session.perform(post(subject)) }
      #expect(written(&session).text.contains("HPUB a "))
      func acknowledge(_ mark: Int, _ payload: String) {
        session.receivedAnswer(
          ServerMessage(
            subject: session.inbox + session.seal.sealed("a\(mark)"), sid: NATSSession.inboxSid,
            reply: nil, headers: .none, payload: Array(payload.utf8)))
      }
      if !answer.isEmpty { acknowledge(1, answer) }
      for mark in 2...4 {
        acknowledge(mark, #"{"stream":"S","seq":\#(mark)}"#)
        session.tickDurable()
      }
      session.tickDurable()
      let again = written(&session).text
      #expect(again.contains("HPUB a ") && !again.contains("HPUB b "))
      #expect(told(&session).isEmpty)
    }

    /// A session that stores in a stream, whose posts nobody has taken once.
    private func untaken(_ subjects: String..., stream: String = "S") -> NATSSession {
      var session = connected(DurableOptions(stream: stream, subjects: [], replicas: 1))
      for subject in subjects { session.perform(post(subject)) }
      session.perform(.flush(5))
      // The server has the flush; it ends with the posts before it.
      let mark = written(&session).mark
      session.confirmed(mark ?? 0)
      return session
    }

    private func answer(_ session: inout NATSSession, _ token: String, _ payload: String?) {
      session.receivedAnswer(
        ServerMessage(
          subject: session.inbox + session.seal.sealed(token), sid: NATSSession.inboxSid,
          reply: nil,
          headers: payload == nil
            ? HeaderBlock(bytes: Array("NATS/1.0 503 No Responders\r\n\r\n".utf8)) : .none,
          payload: Array((payload ?? "").utf8)))
    }

    @Test("Posts whose name the stream does not store are refused, and flushes end")
    func unknownName() {
      var session = untaken("x", "a", "x")
      answer(&session, "a2", #"{"stream":"S","seq":1}"#)
      for _ in 1...2 {
        answer(&session, "a1", nil)
        answer(&session, "a3", nil)
        session.tickDurable()
        let text = written(&session).text
        #expect(text.contains("HPUB x ") && !text.contains("HPUB a "))
      }
      answer(&session, "q1", #"{"config":{"subjects":["a","y.>"]}}"#)
      #expect(told(&session) == ["refused x", "refused x", "flushed 5"])
      #expect(session.outbox.isEmpty)
    }

    @Test("While the stream has no leader, or is full, posts wait; after five attempts it is told")
    func notStored() {
      for payload in [nil, #"{"error":{"code":503,"err_code":10077},"stream":"S","seq":0}"#] {
        var session = untaken("x")
        for (attempt, pause) in zip(1..., [1, 1, 1, 1, 1, 2, 4, 8, 16, 30, 30]) {
          answer(&session, "a1", payload)
          for second in 1...pause {
            #expect(!written(&session).text.contains("HPUB x "), "attempt \(attempt), \(second)")
            session.tickDurable()
          }
          #expect(told(&session) == (attempt == 5 ? ["denied x"] : []))
          #expect(written(&session).text.contains("HPUB x "))
          let answers = [
            "{}", #"{"error":{"code":404,"err_code":10059}}"#, #"{"config":{"subjects":["*"]}}"#,
          ]
          for json in answers where attempt > 1 { answer(&session, "q1", json) }
        }
        answer(&session, "a1", #"{"stream":"S","seq":1}"#)
        #expect(told(&session) == ["flushed 5"])
      }
    }

    @Test("A post waits while its stream is created again, and nothing is reported")
    func createdAgain() throws {
      var session = connected(DurableOptions(stream: "S", subjects: ["x"], replicas: 1))
      answer(&session, "i1", "{}")
      session.perform(post("x"))
      _ = written(&session)
      for _ in 1...2 {
        answer(&session, "a1", nil)
        session.tickDurable()
        #expect(written(&session).text.contains("HPUB x "))
      }
      answer(&session, "a1", nil)
      answer(&session, "q1", #"{"error":{"code":404,"err_code":10059}}"#)
      session.tickDurable()
      #expect(!written(&session).text.contains("HPUB x "))
      session.tickDurable()
      func token(_ request: String) throws -> String {
        let text = written(&session).text
        #expect(!text.contains("HPUB x "))
        let pattern = try Regex("STREAM\\.\(request)\\.S \\S*\\.([is]\\d+)x")
        return String(try #require(text.firstMatch(of: pattern)?[1].substring))
      }
      answer(&session, try token("INFO"), #"{"error":{"code":404,"err_code":10059}}"#)
      let creation = try token("CREATE")
      for _ in 1...3 {
        session.tickDurable()
        #expect(!written(&session).text.contains("HPUB x "))
      }
      answer(&session, creation, "{}")
      #expect(written(&session).text.contains("HPUB x "))
      answer(&session, "a1", #"{"stream":"S","seq":1}"#)
      #expect(told(&session) == [])
      #expect(session.outbox.isEmpty)
    }

    @Test("While nothing is stored, only the oldest post is sent again, and requests do not wait")
    func onlyOldest() {
      let full = #"{"error":{"code":400,"err_code":10002},"stream":"S","seq":0}"#
      var session = untaken("x", "y", "z")
      for mark in 1...3 { answer(&session, "a\(mark)", full) }
      session.tickDurable()
      let again = written(&session).text
      #expect(again.contains("HPUB x ") && !again.contains("HPUB y ") && !again.contains("HPUB z "))
      session.perform(post("n"))
      session.perform(
        .request(correlation: 9, subject: "q", version: 0, payload: [1], milliseconds: 5_000))
      let text = written(&session).text
      #expect(text.contains("HPUB q ") && text.hasSuffix("\u{1}\r\n") && !text.contains("HPUB n "))
      answer(&session, "a1", #"{"stream":"S","seq":1}"#)
      let rest = written(&session).text
      let places = ["y", "z", "n"].map { rest.firstRange(of: "HPUB \($0) ")?.lowerBound }
      #expect(
        !places.contains(nil) && places.compactMap { $0 } == places.compactMap { $0 }.sorted())
      for mark in [2, 3, 5] { answer(&session, "a\(mark)", #"{"stream":"S","seq":\#(mark)}"#) }
      session.confirmed(session.outbox.sentMark)
      #expect(told(&session) == ["flushed 5"])
      #expect(session.outbox.isEmpty)
    }

    @Test("A flush that waits does not keep the oldest post from being sent again")
    func flushBeforeOldest() {
      var session = connected(DurableOptions(stream: "S", subjects: [], replicas: 1))
      session.perform(.subscribe("a"))
      session.perform(.flush(5))
      session.perform(post("x"))
      for _ in 1...5 {
        let text = written(&session)
        #expect(text.text.contains("HPUB x "))
        session.confirmed(text.mark ?? 0)
        answer(&session, "a2", nil)
        session.tickDurable()
      }
      _ = written(&session)
      answer(&session, "a2", #"{"stream":"S","seq":1}"#)
      session.perform(post("y"))
      #expect(written(&session).text.contains("HPUB y "))
    }

    @Test(
      "A flush ends when the posts before it, which were to be sent again, are dropped",
      arguments: [true, false])
    func flushBehindDropped(isRefused: Bool) {
      var session = NATSSession(
        id: 0xAB, name: "me", processID: 1, limit: 1_000,
        durable: DurableOptions(stream: "S", subjects: [], replicas: 1))
      var info = ServerInfo()
      info.maxPayload = 1_000
      session.connected(info)
      session.perform(post("a", bytes: 800))
      session.perform(.flushPosts(1))
      for mark in writeAll(&session) { session.confirmed(mark) }
      // The post is not stored.
      for _ in 1...4 { session.tick(isReading: true) }
      session.incidents = []
      if isRefused {
        info.maxPayload = 500
        session.updated(info)
      } else {
        session.perform(post("b", bytes: 700))
      }
      _ = writeAll(&session)
      let news = told(&session)
      #expect(news == [isRefused ? "refused a" : "lost 1 a", "flushed 1"])
    }

    @Test("Flushes that wait for what is to be heard do not take the place of posts")
    func manyFlushes() {
      var session = connected(DurableOptions(stream: "S", subjects: [], replicas: 1))
      session.perform(.subscribe("a"))
      for token in 1...10_000 {
        session.perform(.flush(UInt64(token)))
        session.confirmed(written(&session).mark ?? 0)
      }
      session.perform(post("x"))
      #expect(written(&session).text.contains("HPUB x "))
    }

    @Test("R6 Nothing is sent to a stream again before the server has read it")
    func stalledServer() {
      var session = connected(DurableOptions(stream: "S", subjects: [], replicas: 1))
      for _ in 1...3 { session.perform(post("x", bytes: 100)) }
      #expect(written(&session).text.contains("HPUB x "))
      var marks: [UInt64] = []
      for _ in 1...100 {
        session.tickDurable()
        marks += writeAll(&session)
        #expect(!String(buffer: session.output).contains("HPUB"))
        session.output.clear()
      }
      #expect(marks.count == 1)
      // It goes on, and takes one post, of which the first attempt may have been lost.
      session.confirmed(marks[0])
      session.tickDurable()
      let again = written(&session).text
      #expect(again.split(separator: "HPUB x ").count == 1)
      #expect(told(&session).isEmpty)
    }

    @Test("Answers that somebody has made up change nothing")
    func forged() {
      var session = untaken("x")
      let largest = UInt64.max
      for payload in ["", "ok", "{}", "1", #"{"error":"no"}"#, #"{"seq":1}"#] {
        answer(&session, "a1", payload)
      }
      for token in ["a\(largest)", "q\(largest)", "i\(largest)", "a-1", "a", "\(largest)"] {
        for payload in [nil, "{}", #"{"stream":"S","seq":\#(largest)}"#] {
          answer(&session, token, payload)
        }
      }
      // The seal of another answer, and none.
      for token in ["a1x" + session.seal.sealed("a2").suffix(16), "a1", "a1x", ""] {
        session.received(
          ServerMessage(
            subject: session.inbox + token, sid: NATSSession.inboxSid, reply: nil, headers: .none,
            payload: Array(#"{"stream":"S","seq":1}"#.utf8)))
      }
      #expect(told(&session).isEmpty)
      answer(&session, "a1", #"{"stream":"S","seq":1,"duplicate":true}"#)
      #expect(told(&session) == ["flushed 5"])
    }

    @Test("A stream whose name has the word error in it stores what it says that it stores")
    func namedError() {
      var session = untaken("x", stream: "errors")
      answer(&session, "a1", #"{"stream":"errors", "seq":1}"#)
      #expect(told(&session) == ["flushed 5"])
    }

    @Test("What another stream has stored is refused", arguments: ["T", "SS", "", "errors"])
    func otherStream(name: String) {
      var session = untaken("x")
      answer(&session, "a1", #"{"stream":"\#(name)","seq":1}"#)
      #expect(told(&session) == ["refused x", "flushed 5"])
      #expect(session.outbox.isEmpty)
    }

    @Test("A post for which a stream never has room is refused, and those behind it are stored")
    func noRoom() {
      let full = #"{"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"}}"#
      func config(_ bytes: Int, _ discard: String = "new") -> String {
        #"{"config":{"subjects":["x"],"max_bytes":\#(bytes),"discard":"\#(discard)"}}"#
      }
      var session = connected(DurableOptions(stream: "S", subjects: [], replicas: 1))
      session.perform(post("x", bytes: 500))
      session.perform(post("x"))
      session.perform(.flush(5))
      session.confirmed(written(&session).mark ?? 0)
      for _ in 1...2 {
        answer(&session, "a1", full)
        session.tickDurable()
        _ = written(&session)
      }
      for unlike in [config(-1), config(400, "old"), config(1_000)] {
        answer(&session, "q1", unlike)
        #expect(told(&session) == [])
      }
      answer(&session, "q1", config(400))
      #expect(told(&session) == ["refused x"])
      let rest = written(&session)
      #expect(rest.text.split(separator: "HPUB x ").count == 1)
      answer(&session, "a2", #"{"stream":"S","seq":1}"#)
      session.confirmed(rest.mark ?? 0)
      #expect(told(&session) == ["flushed 5"])
      #expect(session.outbox.isEmpty)
    }

    @Test("A message that is too large for a stream's files is refused at once")
    func tooLarge() {
      var session = untaken("x")
      answer(
        &session, "a1",
        #"{"error":{"code":503,"err_code":10077,"description":"message to large"}}"#)
      #expect(told(&session) == ["refused x", "flushed 5"])
    }

    @Test("That a receiver may not acknowledge is reported once")
    func deniedAcknowledgments() {
      var session = connected(
        DurableOptions(stream: "S", subjects: [], replicas: 1, consumer: "me"))
      for number in 1...5 {
        session.denied(
          .init(
            kind: .publishing, subject: "$JS.ACK.S.me.1.\(number).1.0.0", text: "Permissions"))
      }
      #expect(told(&session).count == 1)
    }

    @Test("A status in place of an answer is a failure, with the server's words")
    func statusAnswer() {
      var session = connected()
      session.perform(
        .request(correlation: 1, subject: "q", version: 0, payload: [], milliseconds: 100))
      _ = written(&session)
      session.receivedAnswer(
        ServerMessage(
          subject: session.answerSubject(1), sid: NATSSession.inboxSid, reply: nil,
          headers: HeaderBlock(bytes: Array("NATS/1.0 404 Message Not Found\r\n\r\n".utf8)),
          payload: []))
      guard case .reply(1, .failed, let text)? = session.incidents.last else {
        Issue.record("\(session.incidents)")
        return
      }
      #expect(String(decoding: text, as: UTF8.self) == "404 Message Not Found")
    }

    @Test("A relay that ends is subscribed to the messages of its stream no more")
    func endsHearing() {
      for isStored in [true, false] {
        var session = connected(
          isStored ? DurableOptions(stream: "S", subjects: [], replicas: 1) : nil)
        session.perform(.endHearing)
        #expect(written(&session).text.contains("UNSUB 3\r\n") == isStored)
        session.disconnected("")
        session.perform(.endHearing)
        #expect(!written(&session).text.contains("UNSUB"))
      }
    }

    @Test(
      "Whatever a server and its clients send, a session goes on", arguments: [nil, "me"],
      [[], ["x"]])
    func anything(name: String?, subjects: [String]) {
      var dice = SeededGenerator(1)
      let numbers = [
        "0", "1", "2", "3", "7", "-1", "9223372036854775807", "9223372036854775808",
        "18446744073709551614", "18446744073709551615", "18446744073709551616", "x", "",
      ]
      func number() -> String { numbers.randomElement(using: &dice)! }
      func json() -> String {
        [
          "{}", #"{"created":"\#(number())","state":{"last_seq":\#(number())}}"#,
          #"{"num_ack_pending":\#(number())}"#, #"{"stream":"S","seq":\#(number())}"#,
          #"{"error":{"code":\#(number()),"err_code":\#(number())}}"#,
          #"{"config":{"subjects":["a"]}}"#, "1 2 3 4", "\(number()) \(number()) \(number()) x",
        ].randomElement(using: &dice)!
      }
      func headers() -> String {
        let status = ["100", "404", "408", "409 Message Size Exceeds MaxBytes", "409", "503"]
          .randomElement(using: &dice)!
        return [
          "", "NATS/1.0 \(status)\r\nNats-Pending-Messages: \(number())\r\n\r\n",
          "NATS/1.0 \(status)\r\nNats-Last-Consumer: \(number())\r\n"
            + "Nats-Last-Stream: \(number())\r\n\r\n",
          "NATS/1.0\r\nCampanile: \(number()) \(number()) \(number()) \(number()) x -\r\n\r\n",
        ].randomElement(using: &dice)!
      }
      for round in 1...30 {
        var session = connected(
          DurableOptions(stream: "S", subjects: subjects, replicas: 1, consumer: name))
        session.perform(.subscribe("a"))
        session.perform(.answer("b"))
        for step in 1...100 {
          let inbox = session.inbox
          let token = ["a", "q", "i", "c", "s", "x", "p", "here", ""].randomElement(using: &dice)!
          let subject = [
            "a", "b", NATSSubject.presence, inbox + session.seal.sealed("\(token)\(number())"),
            "\(inbox)\(token)",
            inbox + session.seal.sealed(session.durable!.pullInbox) + ".\(number())",
          ].randomElement(using: &dice)!
          let consumer = "relayabn\(Int.random(in: 1...12, using: &dice))"
          let reply = [
            nil, "r", "$JS.ACK.S.\(consumer).1.\(number()).\(number()).0.\(number())",
          ].randomElement(using: &dice)!
          session.received(
            ServerMessage(
              subject: subject, sid: [1, 2, 3, 10, 11].randomElement(using: &dice)!, reply: reply,
              headers: HeaderBlock(bytes: Array(headers().utf8)), payload: Array(json().utf8)))
          switch Int.random(in: 0..<12, using: &dice) {
          case 0: session.perform(post("a"))
          case 1: session.perform(.flush(UInt64(step)))
          case 2: session.tick(isReading: true)
          case 3: session.confirmed(UInt64.random(in: 0...(.max), using: &dice))
          case 4: session.disconnected("")
          case 5: session.connected(ServerInfo())
          case 6: session.settle(reply ?? "", isTaken: true)
          default: break
          }
          _ = writeAll(&session)
          session.output.clear()
        }
        #expect(session.incidents.count < 10_000, "round \(round)")
      }
    }

    @Test("R10 A flush of posts ends when they are stored, whatever is not heard yet")
    func flushOfPosts() {
      var session = connected(DurableOptions(stream: "S", subjects: [], replicas: 1))
      session.perform(.subscribe("a"))
      session.perform(.flush(5))
      session.perform(post("x"))
      session.perform(.flushPosts(6))
      session.confirmed(written(&session).mark ?? 0)
      #expect(told(&session) == [])
      answer(&session, "a2", #"{"stream":"S","seq":1}"#)
      #expect(told(&session) == ["flushed 6"])
      session.perform(.unsubscribe("a"))
      session.confirmed(written(&session).mark ?? 0)
      #expect(told(&session) == ["flushed 5"])
      #expect(session.outbox.isEmpty)
    }

    @Test("A flush that waited for what is to be heard ends on the next connection, too")
    func heldFlush() {
      var session = connected(DurableOptions(stream: "S", subjects: [], replicas: 1))
      session.perform(.subscribe("a"))
      session.perform(.flush(5))
      session.confirmed(written(&session).mark ?? 0)
      session.disconnected("")
      session.perform(.unsubscribe("a"))
      session.connected(ServerInfo())
      let mark = written(&session).mark
      #expect(mark != nil)
      session.confirmed(mark ?? 0)
      #expect(told(&session) == ["disconnected", "flushed 5"])
    }

    @Test("R2 Posts wait until it is known whether there is a stream, but not for ever")
    func unknownStream() {
      for isAnswered in [true, false] {
        var session = connected(DurableOptions(stream: "S", subjects: ["x"], replicas: 1))
        session.perform(post("x"))
        #expect(!written(&session).text.contains("HPUB x "))
        if isAnswered {
          answer(&session, "i1", "{}")
        } else {
          for _ in 1...5 { session.tickDurable() }
        }
        #expect(written(&session).text.contains("HPUB x "))
      }
    }

    @Test("So many posts are sent to a stream at a time as its server takes")
    func windowOfPosts() {
      var session = connected(DurableOptions(stream: "S", subjects: [], replicas: 1))
      for _ in 1...20_000 { session.perform(post("x")) }
      let count = written(&session).text.split(separator: "HPUB x ").count
      #expect(1_000..<10_000 ~= count)
      answer(&session, "a1", #"{"stream":"S","seq":1}"#)
      #expect(written(&session).text.split(separator: "HPUB x ").count == 1)
    }

    @Test("A stream that stores a request has not answered it")
    func storedRequest() {
      var session = connected()
      session.perform(
        .request(correlation: 1, subject: "q", version: 0, payload: [], milliseconds: 100))
      _ = written(&session)
      answer(&session, "1", #"{"stream":"S","seq":7}"#)
      #expect(told(&session) == [])
      answer(&session, "1", #"{"text":"stream"}"#)
      #expect(told(&session) == ["reply 1 answered"])
    }

    @Test("A request that the server has sent before it knows that nobody answers is told")
    func endedAnswers() {
      var session = connected()
      session.perform(.answer("q"))
      session.perform(.answer("*"))
      // The answer to this ping says nothing of what is sent later.
      session.perform(.flush(1))
      _ = written(&session)
      session.perform(.stopAnswering("q"))
      session.perform(.stopAnswering("*"))
      #expect(writeAll(&session).count == 1)
      session.confirmed(0)
      session.received(message("q", sid: 10, reply: "r.1"))
      #expect(told(&session).last == "request q")
      // By two patterns that end.
      session.received(message("q", sid: 10, reply: "r.2"))
      session.received(message("q", sid: 11, reply: "r.3"))
      #expect(told(&session) == ["request q", "request q"])
      session.perform(.reply(to: 0, correlation: 1, .answered, payload: []))
      #expect(written(&session).text.contains("HPUB r.1 "))
      session.confirmed(session.outbox.sentMark)
      session.received(message("q", sid: 10, reply: "r.4"))
      #expect(told(&session) == ["flushed 1"])
      #expect(session.ending.isEmpty)
      // Another connection sends nothing of what has ended.
      session.perform(.answer("q"))
      session.perform(.stopAnswering("q"))
      session.disconnected("")
      #expect(session.ending.isEmpty)
    }

    @Test(
      "A stream that may not be created is used if it is there, and denials are reported once")
    func deniedCreation() throws {
      var session = connected(DurableOptions(stream: "S", subjects: ["x"], replicas: 1))
      session.perform(.subscribe("x"))
      session.perform(.flush(5))
      func token(_ request: String) throws -> String {
        let text = written(&session).text
        let pattern = try Regex("API\\.\(request)\\S* _INBOX\\.\\w+\\.(\\w+)x\\w{16} ")
        return String(try #require(text.firstMatch(of: pattern)?[1].substring))
      }
      answer(&session, try token("STREAM.INFO.S"), #"{"created":"1","state":{"last_seq":3}}"#)
      answer(&session, try token("STREAM.INFO.S"), #"{"created":"1","state":{"last_seq":3}}"#)
      answer(&session, try token("CONSUMER.CREATE.S"), "{}")
      #expect(session.durable?.isReady == true)
      session.confirmed(written(&session).mark ?? 0)
      #expect(told(&session) == ["flushed 5"])
      let creation = ConnectionState.Denial(
        kind: .publishing, subject: "$JS.API.STREAM.CREATE.S", text: "no")
      session.denied(creation)
      #expect(told(&session) == ["denied $JS.API.STREAM.CREATE.S"])
      session.denied(creation)
      // Each consumer without a name is another one.
      for number in 1...3 {
        session.denied(
          .init(kind: .publishing, subject: "$JS.API.CONSUMER.CREATE.S.relayn\(number)", text: "no")
        )
      }
      #expect(told(&session) == ["denied $JS.API.CONSUMER.CREATE.S.relayn1"])
      // Neither what the relay does not ask for nor each acknowledgement is remembered.
      for number in 1...3 {
        session.denied(.init(kind: .publishing, subject: "$JS.API.X.\(number)", text: "no"))
        session.denied(
          .init(kind: .publishing, subject: "$JS.ACK.S.c\(number).1.1.1.0.0", text: "no"))
      }
      #expect(told(&session).count == 4)
      #expect(session.reportedDenials.count == 3)
    }

    @Test("A stream that may not be created and is not there is refused with the denial")
    func deniedCreationOfNothing() {
      var session = connected(DurableOptions(stream: "S", subjects: ["x"], replicas: 1))
      for round in 1...4 {
        let text = written(&session).text
        #expect(text.contains("STREAM.INFO.S "))
        if let token = text.firstMatch(of: #/INFO\.S \S*\.(i\d+)x/#)?.1 {
          answer(&session, String(token), #"{"error":{"code":404,"err_code":10059}}"#)
        }
        #expect(written(&session).text.contains("STREAM.CREATE.S "))
        session.denied(
          .init(kind: .publishing, subject: "$JS.API.STREAM.CREATE.S", text: "no"))
        // Posts wait for it once.
        #expect(session.durable?.isStreamUnknown == (round == 1))
        while session.durable?.phase == .creatingStream { session.tickDurable() }
      }
      #expect(told(&session) == ["denied $JS.API.STREAM.CREATE.S", "denied "])
    }

    @Test("A request that is sent while no stream takes posts ends with the connection")
    func requestBesideVainPosts() {
      var session = connected(DurableOptions(stream: "S", subjects: ["x"], replicas: 1))
      session.perform(
        .request(correlation: 7, subject: "q", version: 0, payload: [], milliseconds: 3_600_000))
      #expect(written(&session).text.contains("HPUB q "))
      session.disconnected("")
      #expect(told(&session) == ["reply 7 disconnected", "disconnected"])
    }

    @Test("A request that nobody waits for any more is not sent, and takes no memory")
    func forgottenRequests() {
      var session = connected()
      session.disconnected("")
      for number in 1...3 {
        session.perform(
          .request(
            correlation: UInt64(number), subject: "q\(number)", version: 0,
            payload: [UInt8](repeating: 0, count: 900), milliseconds: 3_600_000))
      }
      session.perform(.forget([1, 3, 9]))
      session.connected(ServerInfo())
      let text = written(&session).text
      #expect(text.contains("HPUB q2 ") && !text.contains("HPUB q1 ") && !text.contains("HPUB q3 "))
      // One that was sent is not told any more.
      session.perform(.forget([2]))
      session.received(message(session.answerSubject(2), sid: NATSSession.inboxSid))
      session.confirmed(session.outbox.sentMark)
      #expect(told(&session) == ["disconnected"])
      #expect(!(1...3).contains { session.requests.isOpen($0) })
      #expect(session.outbox.isEmpty && session.outbox.frameMemory == 0)
    }

    @Test("A flush that nobody waits for is not kept until there is a connection")
    func forgottenFlushes() {
      var session = NATSSession(id: 0xAB, name: "me", processID: 1, limit: 10_000)
      for token in 1...9 as ClosedRange<UInt64> {
        session.perform(token.isMultiple(of: 2) ? .flush(token) : .flushPosts(token))
      }
      session.perform(.forget([1, 2, 3, 4, 5, 6, 7, 8]))
      session.connected(ServerInfo())
      _ = written(&session)
      session.confirmed(session.outbox.sentMark)
      #expect(told(&session).filter { $0.hasPrefix("flushed") } == ["flushed 9"])
      #expect(session.outbox.isEmpty)
    }

    @Test("A flush that nobody waits for is not kept by posts that are dropped")
    func forgottenFlushesAmongDropped() {
      var session = NATSSession(id: 0xAB, name: "me", processID: 1, limit: 3_000)
      session.perform(post("x", bytes: 900))
      session.perform(.flush(1))
      for subject in ["u", "v", "w"] { session.perform(post(subject, bytes: 900)) }
      #expect(session.outbox.itemCount == 1)
      session.perform(.forget([1]))
      #expect(session.outbox.itemCount == 0)
    }

    @Test("A message of another client is heard once, and numbers that are still needed are kept")
    func severalPatterns() {
      var session = connected()
      session.perform(.subscribe("a.>"))
      session.perform(.subscribe("a.b"))
      session.perform(.answer("*.b"))
      for sid in [10, 11] as [UInt64] { session.received(message("a.b", sid: sid)) }
      #expect(told(&session) == ["message a.b of 0"])
      session.received(message("a.b", sid: 10, "1 1 1 0 n -"))
      session.perform(.unsubscribe("a.>"))
      session.received(message("a.b", sid: 11, "1 1 1 0 n -"))
      session.received(message("a.b", sid: 11, "1 3 1 0 n -"))
      session.received(message("a.b", sid: 11))
      #expect(
        told(&session) == [
          "message a.b of 1", "lost 1 a.b", "message a.b of 1", "message a.b of 0",
        ])
    }

    @Test("What is internal is heard by who asks for it, whoever else hears everything")
    func internalName() {
      var session = connected()
      session.perform(.subscribe(">"))
      session.perform(.subscribe("$JS.EVENT.>"))
      for sid in [10, 11] as [UInt64] { session.received(message("$JS.EVENT.a", sid: sid)) }
      #expect(told(&session) == ["message $JS.EVENT.a of 0"])
    }

    @Test("A flush ends when nothing is to be heard any more")
    func flushWithoutPatterns() {
      var session = connected(DurableOptions(stream: "S", subjects: [], replicas: 1))
      session.perform(.subscribe("a"))
      session.perform(.flush(5))
      session.confirmed(written(&session).mark ?? 0)
      #expect(told(&session) == [])
      session.perform(.unsubscribe("a"))
      session.confirmed(written(&session).mark ?? 0)
      #expect(told(&session) == ["flushed 5"])
    }

    @Test("Who asks is told that the answer is too long")
    func longAnswer() {
      var session = connected()
      session.perform(.answer("a"))
      _ = written(&session)
      session.received(message("a", reply: "r.1"))
      let payload = [UInt8](repeating: 0x78, count: 2_000)
      session.perform(.reply(to: 0, correlation: 1, .answered, payload: payload))
      let text = written(&session).text
      #expect(text.hasPrefix("HPUB r.1 "))
      #expect(text.contains("Nats-Service-Error: The answer is longer than the server takes.\r\n"))
    }
  }
#endif
