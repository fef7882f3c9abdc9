#if NATS
  import CampanileRelay
  import Testing

  @testable import CampanileNATS

  @Suite("What a relay asks of a stream")
  struct DurableStateTests {
    private var info: ServerInfo {
      var info = ServerInfo()
      info.version = "2.15.1"
      return info
    }

    private func options(_ name: String?, creating subjects: [String] = []) -> DurableOptions {
      DurableOptions(stream: "S", subjects: subjects, replicas: 1, consumer: name)
    }

    private func patterns(_ texts: String...) -> [SubjectPattern] {
      texts.map { try! SubjectPattern(validating: $0) }
    }

    private func message(
      _ reply: String?, _ headers: String = "", _ payload: String = "", subject: String = "a"
    ) -> ServerMessage {
      ServerMessage(
        subject: subject, sid: 3, reply: reply, headers: HeaderBlock(bytes: Array(headers.utf8)),
        payload: Array(payload.utf8))
    }

    /// The subjects of what is asked, without the interface's name, and the bodies.
    private func asked(_ state: inout DurableState) -> [(subject: String, body: String)] {
      defer { state.requests = [] }
      return state.requests.map {
        (String($0.subject.dropFirst(8)), String(decoding: $0.json, as: UTF8.self))
      }
    }

    /// Answers the last request.
    private func answer(_ state: inout DurableState, _ json: String = "{}") -> String? {
      let token = state.requests.last?.token ?? ""
      state.requests = []
      return state.answered(token[...], message(nil, "", json))
    }

    /// Answers where the stream ends.
    private func locate(
      _ state: inout DurableState, last: Int = 10, created: String = "2026"
    ) -> String? {
      #expect(state.requests.last?.subject == "$JS.API.STREAM.INFO.S")
      return answer(&state, #"{"created":"\#(created)","state":{"last_seq":\#(last)}}"#)
    }

    /// A receiver that has found its stream, and asks for its consumer.
    private func located(_ name: String?) -> DurableState {
      var state = DurableState(options(name), id: "x")
      state.setPatterns(patterns("a"))
      state.connected(info)
      // One with a name gathers first.
      while state.phase == .gathering { state.tick() }
      _ = locate(&state)
      return state
    }

    /// A message of the last consumer without a name.
    private func place(_ stream: Int, _ consumer: Int, generation: Int = 2) -> String {
      "$JS.ACK.S.relayxn\(generation).1.\(stream).\(consumer).0.0"
    }

    @Test("A consumer without a name goes on after the last message, when anything is missing")
    func ordered() {
      var state = DurableState(options(nil), id: "x")
      state.setPatterns(patterns("a"))
      state.connected(info)
      #expect(locate(&state) == nil)
      #expect(state.phase == .creatingConsumer)
      // As ADR 17 has it.
      for field in [
        "\"opt_start_seq\":11", "\"deliver_policy\":\"by_start_sequence\"",
        "\"ack_policy\":\"none\"", "\"mem_storage\":true", "\"max_deliver\":1",
      ] {
        #expect(state.requests.last?.json.contains(field) == true, "\(field)")
      }
      #expect(state.requests.last?.json.contains("durable_name") == false)
      #expect(answer(&state) == nil)
      #expect(state.isReady)
      #expect(asked(&state).map(\.subject) == ["CONSUMER.MSG.NEXT.S.relayxn2"])
      #expect(state.received(message(place(11, 1))) == .new(acknowledgment: nil))
      #expect(state.received(message(place(12, 2))) == .new(acknowledgment: nil))
      // The third is missing.
      #expect(state.received(message(place(14, 4))) == .none)
      #expect(asked(&state).first?.subject == "CONSUMER.DELETE.S.relayxn2")
      state.connected(info)
      _ = locate(&state, last: 14)
      let requests = asked(&state)
      #expect(requests.last?.subject == "CONSUMER.CREATE.S.relayxn5")
      #expect(requests.last?.body.contains("\"opt_start_seq\":13") == true)
    }

    @Test("A pattern is heard from when it is added, and the others go on where they are")
    func addedPattern() {
      var state = pulling()
      #expect(state.received(message(place(11, 1))) == .new(acknowledgment: nil))
      state.setPatterns(patterns("a", "b"))
      #expect(!state.isReady)
      _ = locate(&state, last: 20)
      #expect(state.requests.last?.json.contains("\"opt_start_seq\":12") == true)
      _ = answer(&state)
      #expect(state.isReady)
      let (a, b) = ("a", "b")
      // The rest of the consumer before arrives late.
      #expect(state.received(message(place(12, 2))) == .none)
      func hear(_ subject: String, _ stream: Int, _ consumer: Int) -> DurableState.News {
        state.received(message(place(stream, consumer, generation: 4), subject: subject))
      }
      #expect(hear(b, 15, 1) == .none)
      #expect(hear(a, 16, 2) == .new(acknowledgment: nil))
      #expect(hear(b, 21, 3) == .new(acknowledgment: nil))
      #expect(hear(b, 22, 4) == .new(acknowledgment: nil))
      // Without patterns, nothing is heard; then what comes from then on.
      state.setPatterns([])
      state.setPatterns(patterns("a"))
      _ = locate(&state, last: 90)
      #expect(state.requests.last?.json.contains("\"opt_start_seq\":91") == true)
    }

    @Test("That somebody has deleted the consumer of a name is reported")
    func deletedConsumer() {
      let deleted = message(nil, "NATS/1.0 409 Consumer Deleted\r\n\r\n", subject: "_INBOX.x.p1.2")
      var (state, named) = (pulling(), pulling("me"))
      #expect(state.received(deleted) == .none)
      guard case .refusal(let reason) = named.received(deleted) else {
        Issue.record("nothing is said")
        return
      }
      #expect(reason.contains("\"me\""))
      // The server may still be deleting the files of the consumer.
      #expect(state.phase == .awaitingDeletion && named.phase == .awaitingDeletion)
      named.setPatterns(patterns("a", "b"))
      #expect(named.phase == .awaitingDeletion)
      for _ in 1...2 {
        state.tick()
        named.tick()
      }
      #expect(state.phase == .locating && named.phase == .locating)
    }

    @Test("A stream that the relay doesn't create is not created when its consumer is deleted")
    func deletedAndUnwanted() {
      let deleted = message(nil, "NATS/1.0 409 Consumer Deleted\r\n\r\n", subject: "_INBOX.x.p1.2")
      var state = pulling()
      state.requests = []
      #expect(state.received(deleted) == .none)
      state.setPatterns([])
      for _ in 1...3 { state.tick() }
      #expect(asked(&state).isEmpty)
      #expect(state.phase == .idle)
      // It is heard again when somebody wants it.
      state.setPatterns(patterns("a"))
      #expect(asked(&state).map(\.subject) == ["STREAM.INFO.S"])
    }

    @Test("That JetStream does not answer is said once, from the second attempt on")
    func silentInterface() {
      var state = DurableState(options(nil), id: "x")
      state.setPatterns(patterns("a"))
      state.connected(info)
      let told = (1...1_000).compactMap { _ in state.tick() }
      #expect(told == ["JetStream doesn't answer for the stream \"S\"."])
      #expect(asked(&state).count == 20)
      _ = state.received(message(nil, subject: "_INBOX.x.p1.2"))
      state.deleteConsumer()
      #expect(asked(&state).isEmpty)
    }

    @Test("Servers may name different times for a stream, and nothing of it is missed")
    func otherTime() {
      var state = DurableState(options(nil), id: "x")
      state.setPatterns(patterns("a"))
      for (last, created) in [(10, "2026-02-01T00:00:00Z"), (20, "2026-01-31T23:59:59Z")] {
        state.connected(info)
        state.requests = state.requests.filter { $0.subject.hasSuffix("STREAM.INFO.S") }
        #expect(locate(&state, last: last, created: created) == nil)
      }
      // The members of an object have no order.
      let json = state.requests.last?.json ?? []
      #expect(json.contains("\"opt_start_seq\":1,") || json.contains("\"opt_start_seq\":1}"))
    }

    @Test("A JetStream that takes seven seconds for each answer is heard", arguments: ["me", nil])
    func slowInterface(name: String?) {
      var state = DurableState(options(name, creating: ["a"]), id: "x")
      state.setPatterns(patterns("a"))
      state.connected(info)
      var (due, count, second): ([Int: [StreamRequest]], Int, Int) = ([:], 0, 0)
      while !state.isReady, second < 200 {
        second += 1
        count += state.requests.count
        due[second + 7] = state.requests
        state.requests = []
        for request in due[second] ?? [] {
          let json = #"{"created":"2026","state":{"last_seq":1}}"#
          _ = state.answered(request.token[...], message(nil, "", json))
        }
        state.tick()
      }
      #expect(state.isReady)
      #expect(count < 10)
      // The next request is made again as soon as the first one was.
      state.setPatterns(patterns("a", "b"))
      while state.phase == .gathering { state.tick() }
      state.requests = []
      for _ in 1...5 { state.tick() }
      #expect(state.requests.map(\.subject) == ["$JS.API.STREAM.INFO.S"])
    }

    @Test("A receiver without a name leaves no consumer behind when it connects again")
    func leavesNoConsumer() {
      var state = pulling()
      state.requests = []
      for generation in [2, 4, 6] {
        state.disconnected()
        state.connected(info)
        #expect(
          asked(&state).map(\.subject) == [
            "CONSUMER.DELETE.S.relayxn\(generation)", "STREAM.INFO.S",
          ])
        _ = state.answered(
          "i\(generation + 1)", message(nil, "", #"{"created":"2026","state":{"last_seq":10}}"#))
        #expect(asked(&state).map(\.subject) == ["CONSUMER.CREATE.S.relayxn\(generation + 2)"])
      }
      var named = pulling("me")
      named.requests = []
      named.disconnected()
      named.connected(info)
      #expect(asked(&named).map(\.subject) == ["STREAM.INFO.S"])
    }

    @Test("A server that refuses a filter is asked for all that the stream has")
    func unfiltered() {
      var state = DurableState(options(nil), id: "x")
      state.setPatterns(patterns("a.*.c"))
      state.connected(info)
      _ = locate(&state)
      #expect(state.requests.last?.json.contains("filter_subject") == true)
      let refusal = #"{"error":{"code":400,"err_code":10093,"description":"no"}}"#
      #expect(answer(&state, refusal) == nil)
      #expect(state.requests.last?.json.contains("filter_subject") == false)
      // That is tried once.
      #expect(answer(&state, refusal) != nil)
      for _ in 1...5 { state.tick() }
      _ = locate(&state)
      #expect(state.requests.last?.json.contains("filter_subject") == true)
      _ = answer(&state, refusal)
      #expect(answer(&state) == nil)
      #expect(state.isReady)
      state.requests = []
      #expect(state.received(message(place(11, 1, generation: 6), subject: "a.b.d")) == .none)
      #expect(
        state.received(message(place(12, 2, generation: 6), subject: "a.b.c"))
          == .new(acknowledgment: nil))
    }

    @Test("Heartbeats of a pull do not keep a request without an answer from being repeated")
    func heartbeatsWhileAsking() {
      var state = pulling("me")
      state.setPatterns(patterns("a", "b"))
      for _ in 1...2 { state.tick() }
      #expect(state.phase == .locating)
      state.requests = []
      for _ in 1...5 {
        _ = state.received(
          message(nil, "NATS/1.0 100 Idle Heartbeat\r\n\r\n", subject: "_INBOX.x.p1.2"))
        state.tick()
      }
      #expect(asked(&state).map(\.subject) == ["STREAM.INFO.S"])
    }

    @Test("A receiver without a name deletes its consumer when it ends")
    func leave() {
      var (state, named) = (pulling(), pulling("me"))
      state.deleteConsumer()
      named.deleteConsumer()
      #expect(asked(&state).map(\.subject) == ["CONSUMER.DELETE.S.relayxn2"])
      #expect(asked(&named).isEmpty)
    }

    @Test("A receiver with a name that hears nothing for a while asks again when it hears")
    func pauseOfHearing() {
      var state = pulling("me")
      state.requests = []
      state.setPatterns([])
      // It is not acknowledged, so that it comes again.
      #expect(state.received(message("$JS.ACK.S.me.1.11.1.1.0")) == .none)
      for _ in 1...3 { state.tick() }
      // The end of the pull comes meanwhile.
      let end = "NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 500\r\n\r\n"
      _ = state.received(message(nil, end, subject: "_INBOX.x.p1.2"))
      state.requests = []
      state.setPatterns(patterns("a"))
      for _ in 1...2 { state.tick() }
      _ = locate(&state)
      _ = answer(&state)
      #expect(state.isReady)
      #expect(asked(&state).last?.subject == "CONSUMER.MSG.NEXT.S.me")
    }

    @Test("A stored message that looks like a status is a message")
    func messageLikeStatus() {
      var (state, named) = (pulling(), pulling("me"))
      for status in ["409 Consumer Deleted", "503", "100 Idle Heartbeat"] {
        let header = "NATS/1.0 \(status)\r\n\r\n"
        let number = Int(status.prefix(3))! / 100
        let reply = "$JS.ACK.S.me.1.\(number + 10).\(number).0.0"
        #expect(named.received(message(reply, header)) == .new(acknowledgment: reply))
      }
      #expect(
        state.received(message(place(11, 1), "NATS/1.0 409 Consumer Deleted\r\n\r\n"))
          == .new(acknowledgment: nil))
      #expect(state.phase == .pulling && named.phase == .pulling)
    }

    @Test("A heartbeat tells how far the stream has been searched")
    func searched() {
      var state = pulling()
      let header =
        "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 0\r\nNats-Last-Stream: 70\r\n\r\n"
      #expect(state.received(message(nil, header, subject: "_INBOX.x.p1.2")) == .none)
      state.setPatterns(patterns("a", "b"))
      _ = locate(&state, last: 80)
      #expect(state.requests.last?.json.contains("\"opt_start_seq\":71") == true)
    }

    @Test("A stream that has been deleted is created again, and heard from its beginning")
    func createdAgain() {
      var state = DurableState(options(nil, creating: ["a"]), id: "x")
      state.setPatterns(patterns("a"))
      state.connected(info)
      _ = answer(&state)
      _ = locate(&state)
      _ = answer(&state)
      let deleted = message(nil, "NATS/1.0 409 Consumer Deleted\r\n\r\n", subject: "_INBOX.x.p.3")
      state.requests = []
      _ = state.received(deleted)
      // The server may still be deleting files: those of a new stream would go with them.
      state.tick()
      #expect(asked(&state).isEmpty)
      state.tick()
      #expect(answer(&state, #"{"error":{"code":404,"err_code":10059}}"#) == nil)
      #expect(state.phase == .creatingStream)
      state.requests = state.requests.filter { $0.subject.hasSuffix("STREAM.CREATE.S") }
      #expect(answer(&state) == nil)
      _ = locate(&state, last: 4, created: "2027")
      // The members of an object have no order.
      let json = state.requests.last?.json ?? []
      #expect(json.contains("\"opt_start_seq\":1,") || json.contains("\"opt_start_seq\":1}"))
    }

    @Test(
      "A stream that is found to be deleted is not created at once, either",
      arguments: ["me", nil])
    func foundDeleted(name: String?) {
      var state = DurableState(options(name, creating: ["a"]), id: "x")
      state.setPatterns(patterns("a"))
      state.connected(info)
      #expect(state.isStreamUnknown)
      _ = answer(&state)
      #expect(!state.isStreamUnknown)
      while state.phase == .gathering { state.tick() }
      let missing = #"{"error":{"code":404,"err_code":10059}}"#
      state.requests = state.requests.filter { $0.subject.hasSuffix("STREAM.INFO.S") }
      #expect(answer(&state, missing) == nil)
      #expect(state.phase == .awaitingDeletion && state.isStreamUnknown)
      state.tick()
      #expect(state.requests.isEmpty)
      // Asked for more meanwhile, it waits no longer.
      state.setPatterns(patterns("a", "b"))
      state.tick()
      #expect(state.phase == .locating)
      #expect(answer(&state, missing) == nil)
      #expect(state.phase == .creatingStream && state.isStreamUnknown)
      #expect(answer(&state) == nil)
      #expect(!state.isStreamUnknown)
      // After another connection nothing has been awaited.
      state.connected(info)
      while state.phase == .gathering { state.tick() }
      state.requests = state.requests.filter { $0.subject.hasSuffix("STREAM.INFO.S") }
      _ = answer(&state, missing)
      #expect(state.phase == .awaitingDeletion)
    }

    @Test("That its consumer is deleted is heard while a receiver with a name changes it, too")
    func deletedWhileChanging() {
      let deleted = message(nil, "NATS/1.0 409 Consumer Deleted\r\n\r\n", subject: "_INBOX.x.p1.2")
      var state = pulling("me")
      state.setPatterns(patterns("a", "b"))
      #expect(state.phase == .gathering)
      guard case .refusal = state.received(deleted) else {
        Issue.record("nothing is said")
        return
      }
      #expect(state.phase == .awaitingDeletion)
      #expect(state.received(deleted) == .none)
    }

    @Test("Posts wait for a stream no longer than it is asked for")
    func unknownStream() {
      var state = DurableState(options(nil, creating: ["a"]), id: "x")
      state.connected(info)
      _ = answer(&state)
      state.streamMayBeMissing()
      #expect(state.isStreamUnknown)
      for _ in 1...2 { state.tick() }
      #expect(state.phase == .locating && state.isStreamUnknown)
      // Nobody answers.
      for _ in 1...5 { state.tick() }
      #expect(!state.isStreamUnknown)
      // Nor do they wait while it is created after that.
      _ = answer(&state, Self.missing)
      #expect(state.phase == .creatingStream && !state.isStreamUnknown)
    }

    @Test("A stream that has lost its end is heard from there on")
    func lostEnd() {
      var state = pulling()
      for number in 1...5 { _ = state.received(message(place(10 + number, number))) }
      state.connected(info)
      _ = locate(&state, last: 12)
      #expect(state.requests.last?.json.contains("\"opt_start_seq\":13") == true)
    }

    @Test("R4 A new leader that is behind makes nothing heard twice, and no number is confused")
    func numbersAgain() {
      var named = pulling("me")
      func reply(_ number: Int, _ delivered: Int, time: Int) -> String {
        "$JS.ACK.S.me.\(delivered).\(number).1.\(time).0"
      }
      let (first, second) = (reply(15, 1, time: 7), reply(16, 1, time: 8))
      for reply in [first, second] {
        #expect(named.received(message(reply)) == .new(acknowledgment: reply))
      }
      _ = named.finished(second, isTaken: true)
      named.connected(info)
      _ = locate(&named, last: 12)
      _ = answer(&named)
      // One whose observers still run, and one that has been acknowledged.
      #expect(named.received(message(reply(15, 2, time: 7))) == .none)
      let again = reply(16, 2, time: 8)
      #expect(named.received(message(again)) == .unwanted(acknowledgment: again))
      // The stream has lost its end, and uses the number for another message.
      let other = reply(15, 1, time: 9)
      #expect(named.received(message(other)) == .new(acknowledgment: other))
      let finished = [first, other].map { named.finished($0, isTaken: true) }
      #expect(finished == [false, true])
    }

    @Test("R4 What an ended connection was sent is heard when it comes again, and holds nothing up")
    func comesAgain() throws {
      var state = pulling("me")
      func hear(_ number: Int, _ count: Int) -> (news: DurableState.News, reply: String) {
        let reply = "$JS.ACK.S.me.\(count).\(number).1.\(number).0"
        return (state.received(message(reply)), reply)
      }
      let (news, first) = hear(11, 1)
      #expect(news == .new(acknowledgment: first))
      _ = state.finished(first, isTaken: true)
      state.disconnected()
      state.connected(info)
      _ = locate(&state)
      #expect(answer(&state, #"{"num_ack_pending":3,"num_waiting":1}"#) == nil)
      #expect(state.isReady)
      let pull = try #require(asked(&state).first)
      #expect(pull.subject == "CONSUMER.MSG.NEXT.S.me" && pull.body.contains("\"batch\":500"))
      for (number, count) in [(14, 1), (13, 2), (12, 2), (15, 1)] {
        let (news, reply) = hear(number, count)
        #expect(news == .new(acknowledgment: reply))
      }
      let (again, reply) = hear(11, 2)
      #expect(again == .unwanted(acknowledgment: reply))
    }

    @Test(
      "R1 A receiver is ready, and hears, however often something is carried or is not any more",
      arguments: ["me", nil])
    func changesForEver(name: String?) {
      var state = pulling(name)
      var (readyCount, lastPulls) = (0, 0)
      for round in 1...60 {
        state.setPatterns(patterns("a", "b\(round)"))
        state.tick()
        while let request = state.requests.first {
          state.requests.removeFirst()
          if request.subject.hasPrefix("$JS.API.CONSUMER.MSG.NEXT") {
            if round > 40 { lastPulls += 1 }
          } else {
            // Something changes between a question and its answer, too.
            if round % 3 == 0 { state.setPatterns(patterns("a", "c\(round)")) }
            let json = #"{"created":"2026","state":{"last_seq":1}}"#
            _ = state.answered(request.token[...], message(nil, "", json))
          }
        }
        if state.isReady { readyCount += 1 }
        // All that was asked for has been sent.
        _ = state.received(message(nil, "NATS/1.0 408 Request Timeout\r\n\r\n"))
      }
      #expect(lastPulls >= 3)
      #expect(readyCount >= 3)
    }

    @Test("R1 A receiver begins again when it is asked for something after nothing")
    func beginsAfterNothing() {
      // The consumer is being created.
      var state = located(nil)
      state.setPatterns(patterns("a", "b"))
      state.setPatterns(patterns())
      _ = answerAll(&state, #"{"created":"2026","state":{"last_seq":1}}"#)
      state.setPatterns(patterns("a"))
      #expect(!state.requests.isEmpty)
    }

    /// Answers all that is asked except pulls, and returns how many pulls there are.
    private func answerAll(_ state: inout DurableState, _ json: String) -> Int {
      var pulls = 0
      while let request = state.requests.first {
        state.requests.removeFirst()
        if request.subject.hasPrefix("$JS.API.CONSUMER.MSG.NEXT") {
          pulls += 1
        } else {
          _ = state.answered(request.token[...], message(nil, "", json))
        }
      }
      return pulls
    }

    @Test("A pull that ends for its bytes while subscriptions change is no loss")
    func bytesWhileChanging() {
      var state = pulling("me")
      state.setPatterns(patterns("a", "b"))
      #expect(state.phase == .gathering)
      let header =
        "NATS/1.0 409 Message Size Exceeds MaxBytes\r\nNats-Pending-Messages: 400\r\n"
        + "Nats-Pending-Bytes: 1000\r\n\r\n"
      #expect(state.received(message(nil, header)) == .none)
      #expect(answerAll(&state, "{}") == 1)
      for _ in 1...2 { state.tick() }
      _ = answerAll(
        &state, #"{"created":"2026","state":{"last_seq":1},"num_ack_pending":5}"#)
      #expect(state.isReady)
    }

    @Test("Pulls that are lost are asked for again, however often something changes")
    func lostPullsWhileChanging() {
      var state = pulling("me")
      var pulls = 0
      for round in 1...60 {
        if round % 5 == 0 { state.setPatterns(patterns("a", "b\(round)")) }
        state.tick()
        let asked = answerAll(&state, #"{"created":"2026","state":{"last_seq":1}}"#)
        if round > 30 { pulls += asked }
      }
      #expect(pulls >= 1)
    }

    @Test("What was asked for before the subscriptions changed is not asked for once more")
    func openPullsWhileChanging() {
      var state = pulling("me")
      var pulls = 0
      for round in 1...20 {
        state.setPatterns(patterns("a", "b\(round)"))
        while !state.isReady {
          state.tick()
          pulls += answerAll(&state, #"{"created":"2026","state":{"last_seq":1}}"#)
        }
        _ = state.received(message(nil, "NATS/1.0 100 Idle Heartbeat\r\n\r\n"))
      }
      #expect(pulls == 0)
      // Half of it has arrived.
      for number in 1...250 {
        _ = state.received(message("$JS.ACK.S.me.1.\(number).\(number).1.0"))
      }
      #expect(asked(&state).count == 1)
    }

    @Test("A pull that ends without a word is asked for again in time, also if something changes")
    func silentEndWhileChanging() {
      var state = pulling("me")
      for _ in 1...5 { state.tick() }
      state.setPatterns(patterns("a", "b"))
      var seconds = 5
      var pulls = 0
      while pulls == 0, seconds < 20 {
        seconds += 1
        state.tick()
        pulls += answerAll(&state, #"{"created":"2026","state":{"last_seq":1}}"#)
      }
      #expect(seconds <= 9)
      #expect(state.isReady)
    }

    @Test("R4 A receiver that begins waits until all that a program subscribes to is there")
    func firstGathering() {
      var state = DurableState(options("me"), id: "x")
      state.setPatterns(patterns("a"))
      state.connected(info)
      for round in 1...8 {
        state.setPatterns((0...round).map { try! SubjectPattern(validating: "a\($0)") })
        state.tick()
        #expect(state.phase == .gathering)
      }
    }

    @Test("What is carried after a deletion does not put off the new stream")
    func changesAfterDeletion() {
      var state = pulling("me")
      _ = state.received(message(nil, "NATS/1.0 409 Consumer Deleted\r\n\r\n"))
      var asked = 0
      for round in 1...10 {
        state.setPatterns(patterns("a", "b\(round)"))
        state.tick()
        asked += state.requests.filter { $0.subject.contains("STREAM.INFO") }.count
        state.requests.removeAll()
      }
      #expect(asked > 0)
    }

    @Test("A receiver that ends hears what has been sent, and asks for nothing more")
    func endsHearing() {
      var state = pulling("me")
      state.hasEndedHearing = true
      for number in 11...600 {
        let reply = "$JS.ACK.S.me.1.\(number).1.\(number).0"
        #expect(state.received(message(reply)) == .new(acknowledgment: reply))
      }
      state.disconnected()
      state.connected(info)
      _ = locate(&state)
      _ = answer(&state)
      #expect(state.isReady)
      #expect(!asked(&state).contains { $0.subject.hasPrefix("CONSUMER.MSG.NEXT") })
    }

    @Test("A server before version 2.10 filters nothing for a receiver with a name")
    func unfilteredBefore() throws {
      for (version, name, isFiltered) in [
        ("2.9.10", "me", false), ("2.9.10", nil, true), ("2.10.0", "me", true),
      ] as [(String, String?, Bool)] {
        var state = DurableState(options(name), id: "x")
        var info = info
        info.version = version
        state.setPatterns(patterns("a"))
        state.connected(info)
        for _ in 1...2 { state.tick() }
        _ = locate(&state)
        let request = try #require(asked(&state).last)
        #expect(request.subject.hasPrefix("CONSUMER.CREATE"))
        #expect(request.body.contains("\"filter_subject\":\"a\"") == isFiltered, "\(version)")
      }
    }

    @Test("A receiver with a name hears what is added later from then on, without a filter, too")
    func addedUnfiltered() {
      var state = DurableState(options("me"), id: "x")
      var info = info
      info.version = "2.9.10"
      state.setPatterns(patterns("a"))
      state.connected(info)
      for _ in 1...2 { state.tick() }
      _ = locate(&state)
      _ = answer(&state)
      state.setPatterns(patterns("a", "b"))
      for _ in 1...2 { state.tick() }
      _ = locate(&state, last: 20)
      _ = answer(&state)
      func hear(_ subject: String, _ number: Int) -> DurableState.News {
        state.received(message("$JS.ACK.S.me.1.\(number).1.\(number).0", subject: subject))
      }
      func news(_ number: Int, isWanted: Bool = true) -> DurableState.News {
        let reply = "$JS.ACK.S.me.1.\(number).1.\(number).0"
        return isWanted ? .new(acknowledgment: reply) : .unwanted(acknowledgment: reply)
      }
      #expect(hear("b", 19) == news(19, isWanted: false))
      #expect(hear("a", 20) == news(20))
      #expect(hear("b", 21) == news(21))
      // Without patterns, a receiver with a name waits where it is.
      state.setPatterns([])
      state.setPatterns(patterns("a"))
      for _ in 1...2 { state.tick() }
      _ = locate(&state, last: 30)
      _ = answer(&state)
      #expect(hear("a", 22) == news(22))
    }

    @Test("R4 All that is carried first has the messages that wait, however long after connecting")
    func firstPatternsLate() {
      var state = DurableState(options("me"), id: "x")
      state.connected(info)
      for _ in 1...2 { state.tick() }
      for number in [18, 19] {
        state.setPatterns(patterns("a"))
        state.setPatterns(patterns("a", "b"))
        for _ in 1...2 { state.tick() }
        _ = locate(&state, last: 20)
        _ = answer(&state)
        let reply = "$JS.ACK.S.me.1.\(number).1.\(number).0"
        #expect(state.received(message(reply, subject: "b")) == .new(acknowledgment: reply))
        // Nothing is carried for a while.
        state.setPatterns([])
        for _ in 1...2 { state.tick() }
      }
    }

    @Test("A consumer that began otherwise is asked for once as it is")
    func policies() {
      var state = DurableState(options("me"), id: "x")
      state.setPatterns(patterns("a"))
      state.connected(info)
      for _ in 1...2 { state.tick() }
      _ = locate(&state)
      let json = #"{"error":{"code":400,"description":"deliver policy can not be updated"}}"#
      #expect(state.requests.last?.json.contains("\"new\"") == true)
      let token = state.requests.last?.token ?? ""
      #expect(state.answered(token[...], message(nil, "", json)) == nil)
      #expect(state.requests.last?.json.contains("\"all\"") == true)
      #expect(answer(&state, json)?.contains("deliver policy") == true)
      #expect(state.requests.isEmpty)
    }

    @Test("R6 The sender of stored messages is named once in a row, if the name is not too long")
    func storedSenders() {
      var session = NATSSession(id: 1, name: "one", processID: 1)
      session.durable = pulling()
      let long = String(repeating: "x", count: 1_025)
      for (number, (id, name)) in [(2, "two"), (2, "two"), (3, long), (2, "two")].enumerated() {
        session.receivedStored(
          message(
            place(11 + number, 1 + number),
            "NATS/1.0\r\nCampanile: \(id) \(number + 1) 1 0 \(name) -\r\n\r\n"))
      }
      let told = session.takeIncidents().map { incident in
        switch incident {
        case .sender(let peer): "\(peer.id) is '\(peer.name)'"
        case .message(let sender, _, _, _, _): "message of \(sender)"
        default: "else"
        }
      }
      #expect(
        told == [
          "2 is 'two'", "message of 2", "message of 2", "3 is ''", "message of 3", "2 is 'two'",
          "message of 2",
        ])
    }

    @Test("That its consumer is paused is reported, and what comes later is heard")
    func paused() {
      var state = located("me")
      let reason = answer(&state, #"{"paused":true,"pause_remaining":1000}"#)
      #expect(reason?.contains("\"me\" is paused") == true)
      #expect(state.isReady)
      #expect(asked(&state).map(\.subject) == ["CONSUMER.MSG.NEXT.S.me"])
      let reply = "$JS.ACK.S.me.1.11.1.0.0"
      #expect(state.received(message(reply)) == .new(acknowledgment: reply))
      var other = located("me")
      #expect(answer(&other, #"{"paused":false}"#) == nil)
    }

    @Test("A relay that only posts creates the stream again, too")
    func createdAgainByPoster() {
      var state = DurableState(options(nil, creating: ["a"]), id: "x")
      state.connected(info)
      _ = answer(&state)
      #expect(state.isReady)
      state.streamMayBeMissing()
      state.tick()
      #expect(asked(&state).isEmpty)
      state.streamMayBeMissing()
      state.tick()
      #expect(state.requests.map(\.subject) == ["$JS.API.STREAM.INFO.S"])
      _ = answer(&state, #"{"error":{"code":404,"err_code":10059}}"#)
      #expect(asked(&state).map(\.subject) == ["STREAM.CREATE.S"])
    }

    @Test("A consumer with a name is asked for all that is to be heard, and for nothing twice")
    func named() {
      var state = DurableState(options("me"), id: "x")
      state.connected(info)
      state.setPatterns(patterns("a"))
      state.tick()
      state.setPatterns(patterns("a", "b.>"))
      state.tick()
      #expect(asked(&state).isEmpty)
      state.tick()
      _ = locate(&state)
      #expect(
        state.requests.last.map { String(decoding: $0.json, as: UTF8.self) }?
          .contains("\"filter_subjects\":[\"a\",\"b.>\"]") == true)
      #expect(answer(&state) == nil)
      #expect(state.isReady)
      let reply = "$JS.ACK.hub.acc.S.me.1.7.1.0.0.x"
      #expect(state.received(message(reply)) == .new(acknowledgment: reply))
      let isFinished = state.finished(reply, isTaken: true)
      #expect(isFinished)
      #expect(state.received(message(reply)) == .unwanted(acknowledgment: reply))
    }

    @Test("R2 A consumer with a name is heard in order while it is changed")
    func changed() {
      var state = pulling("me")
      func hear(_ sequence: Int) -> Bool {
        let reply = "$JS.ACK.S.me.1.\(sequence).\(sequence).0.0"
        return state.received(message(reply)) == .new(acknowledgment: reply)
      }
      #expect(hear(11))
      state.setPatterns(patterns("a", "b"))
      #expect(hear(12))
      // Messages don't delay the change.
      state.tick()
      #expect(hear(13))
      state.tick()
      // The time of the pull is over meanwhile.
      _ = state.received(message(nil, "NATS/1.0 408 Request Timeout\r\n\r\n", subject: "p.1"))
      _ = locate(&state)
      #expect(hear(14))
      // Two have not been acknowledged yet, and nothing has been lost.
      let token = state.requests.last?.token ?? ""
      let json = #"{"num_ack_pending":2}"#
      #expect(state.answered(token[...], message(nil, "", json)) == nil)
      #expect(state.isReady)
      #expect(asked(&state).last?.subject == "CONSUMER.MSG.NEXT.S.me")
      #expect(hear(15))
    }

    @Test("Statuses of a pull")
    func statuses() {
      var state = DurableState(options(nil), id: "x")
      state.setPatterns(patterns("a"))
      state.connected(info)
      _ = locate(&state)
      _ = answer(&state)
      state.requests = []
      func status(_ text: String, generation: Int = 2) -> [String] {
        let news = state.received(
          message(nil, "NATS/1.0 \(text)\r\n\r\n", subject: "_INBOX.x.p.\(generation)"))
        #expect(news == .none)
        return asked(&state).map(\.subject)
      }
      #expect(status("100 Idle Heartbeat").isEmpty)
      #expect(status("408 Request Timeout") == ["CONSUMER.MSG.NEXT.S.relayxn2"])
      for text in ["404 No Messages", "408 Interest Expired"] {
        #expect(status(text) == ["CONSUMER.MSG.NEXT.S.relayxn2"], "\(text)")
      }
      #expect(status("409 Consumer Deleted", generation: 1).isEmpty)
      #expect(status("409 Leadership Change").last == "STREAM.INFO.S")
      // Old pulls are not heard any more, and silence is no answer.
      #expect(state.received(message(place(11, 1))) == .none)
      for _ in 1...5 { state.tick() }
      _ = locate(&state)
      #expect(asked(&state).last?.subject == "CONSUMER.CREATE.S.relayxn5")
    }

    /// What is asked after the last pull has been refused.
    private func refuse(
      _ status: String, _ state: inout DurableState, _ pull: inout String
    ) -> (news: DurableState.News, asked: [String]) {
      state.requests = []
      let news = state.received(
        message(nil, "NATS/1.0 \(status)\r\n\r\n", subject: "_INBOX.x.\(pull)"))
      pull = state.requests.last?.token ?? pull
      return (news, state.requests.map { String(decoding: $0.json, as: UTF8.self) })
    }

    @Test(
      "A server that permits smaller pulls alone is asked for less, until it sends",
      arguments: [nil, "me"])
    func limits(name: String?) {
      var (state, pull) = (pulling(name), "p1.2")
      for batch in [250, 125, 62, 31, 15, 7] {
        let (news, asked) = refuse("409 Exceeded MaxRequestBatch of 10", &state, &pull)
        #expect(news == .none)
        #expect(asked.count == 1 && asked[0].contains("\"batch\":\(batch)"))
      }
      #expect(state.isReady)
    }

    @Test(
      "A pull that is refused is reported once, and asked for again a second later",
      arguments: [
        "400 Bad Request", "409 Exceeded MaxWaiting", "409 Exceeded MaxRequestExpires of 6s",
      ], [nil, "me"])
    func refusals(status: String, name: String?) {
      var (state, pull) = (pulling(name), "p1.2")
      var reasons: [String] = []
      for _ in 1...10 {
        let (news, asked) = refuse(status, &state, &pull)
        if case .refusal(let reason) = news { reasons.append(reason) }
        // The consumer without a name is deleted.
        #expect(asked == (name == nil ? ["{}"] : []))
        state.tick()
        _ = locate(&state)
        let token = state.requests.last?.token ?? ""
        state.requests = []
        #expect(state.answered(token[...], message(nil, "", "{}")) == nil)
        pull = state.requests.last?.token ?? ""
        #expect(pull.hasPrefix(state.pullInbox + "."))
      }
      #expect(reasons.count == 1 && reasons[0].contains(status) && reasons[0].contains("\"S\""))
    }

    @Test("A pull that nobody takes is asked for anew at once, and after that a second later")
    func unanswered() {
      var (state, pull) = (pulling(), "p1.2")
      #expect(refuse("503", &state, &pull).news == .none)
      _ = locate(&state)
      _ = answer(&state)
      pull = state.requests.last?.token ?? ""
      let (news, asked) = refuse("503", &state, &pull)
      #expect(news == .refusal("JetStream sends nothing of the stream \"S\": 503."))
      // The consumer is deleted, and nothing else is asked yet.
      #expect(asked == ["{}"])
      state.tick()
      _ = locate(&state)
      _ = answer(&state)
      pull = state.requests.last?.token ?? ""
      // Once the consumer has sent something, the next pull is asked for at once again.
      let generation = Int(pull.dropFirst(state.pullInbox.count + 1)) ?? 0
      let heard = state.received(message(place(11, 1, generation: generation)))
      #expect(heard == .new(acknowledgment: nil))
      #expect(refuse("503", &state, &pull).news == .none)
      _ = locate(&state, last: 11)
    }

    /// A consumer that is asked for messages.
    private func pulling(_ name: String? = nil) -> DurableState {
      var state = located(name)
      _ = answer(&state)
      state.requests = []
      return state
    }

    @Test("No more is asked for than two pulls, whatever time goes by between messages")
    func bounded() {
      var state = pulling()
      var (open, sequence) = ([PullBudget.batch], 0)
      for _ in 1...100 {
        // Two in three messages of a pull come, then the time of all pulls is over.
        for _ in 1...333 {
          sequence += 1
          _ = state.received(message(place(sequence, sequence)))
          open[0] -= 1
          if open[0] == 0 { open.removeFirst() }
          open += asked(&state).map { _ in PullBudget.batch }
        }
        for rest in open {
          let header = "NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: \(rest)\r\n\r\n"
          _ = state.received(message(nil, header, subject: "_INBOX.x.p1.2"))
          open.removeFirst()
          open += asked(&state).map { _ in PullBudget.batch }
          #expect(open.count <= 2)
          #expect(!open.isEmpty)
        }
      }
    }

    @Test("A heartbeat tells that the last message is missing")
    func lastMissing() {
      var state = pulling()
      _ = state.received(message(place(11, 1)))
      state.requests = []
      func heartbeat(_ last: Int) {
        let header = "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: \(last)\r\n\r\n"
        #expect(state.received(message(nil, header, subject: "_INBOX.x.p1.2")) == .none)
      }
      heartbeat(1)
      #expect(state.requests.isEmpty)
      heartbeat(2)
      _ = locate(&state, last: 12)
      #expect(asked(&state).last?.body.contains("\"opt_start_seq\":12") == true)
    }

    private static let missing = #"{"error":{"code":404,"err_code":10059,"description":"none"}}"#

    @Test("R1 A stream that is there is used, and one that is not there is created, or tried again")
    func notCreated() {
      var state = DurableState(options(nil, creating: ["a"]), id: "x")
      state.connected(info)
      #expect(state.requests.map(\.subject) == ["$JS.API.STREAM.INFO.S"])
      var missing = state
      #expect(answer(&state, #"{"config":{"subjects":["a"]}}"#) == nil)
      #expect(state.isReady && state.requests.isEmpty)
      #expect(answer(&missing, Self.missing) == nil)
      #expect(missing.requests.map(\.subject) == ["$JS.API.STREAM.CREATE.S"])
      let refusal = #"{"error":{"code":500,"err_code":10074,"description":"no"}}"#
      #expect(answer(&missing, refusal)?.hasSuffix(": no.") == true)
      #expect(!missing.isReady && missing.requests.isEmpty)
      // It is tried again, from the beginning.
      for _ in 1...5 { missing.tick() }
      #expect(answer(&missing, Self.missing) == nil)
      #expect(missing.requests.map(\.subject) == ["$JS.API.STREAM.CREATE.S"])
      #expect(answer(&missing) == nil)
      #expect(missing.isReady)
    }

    @Test("Failures are told once, and asked again for ever")
    func failures() {
      var state = DurableState(options(nil, creating: ["a"]), id: "x")
      state.connected(info)
      let json = #"{"error":{"code":503,"description":"no JetStream"}}"#
      #expect(answer(&state, json)?.contains("no JetStream") == true)
      for _ in 1...100 {
        for _ in 1...5 { state.tick() }
        #expect(state.requests.count == 1)
        #expect(answer(&state, json) == nil)
      }
      for _ in 1...5 { state.tick() }
      #expect(answer(&state, Self.missing) == nil)
      // Somebody else has created it meanwhile.
      #expect(answer(&state, #"{"error":{"code":400,"err_code":10058}}"#) == nil)
      #expect(state.isReady)
    }

    @Test("R4 What is still being delivered is not acknowledged, and the server is told of it")
    func unfinished() {
      var state = pulling("me")
      let (first, second) = (place(11, 1), place(12, 2))
      #expect(state.received(message(first)) == .new(acknowledgment: first))
      #expect(state.received(message(second)) == .new(acknowledgment: second))
      let isFirstFinished = state.finished(first, isTaken: true)
      #expect(isFirstFinished)
      // The server sends both again.
      #expect(state.received(message(place(11, 3))) == .unwanted(acknowledgment: place(11, 3)))
      #expect(state.received(message(place(12, 4))) == .none)
      #expect(state.deliveries.open == [second])
      let isSecondFinished = state.finished(second, isTaken: true)
      #expect(isSecondFinished)
      #expect(state.received(message(place(12, 5))) == .unwanted(acknowledgment: place(12, 5)))
      #expect(state.deliveries.open.isEmpty)
    }

    @Test("R4 What was given back is new when it comes again, until it has been taken")
    func givenBack() {
      var state = pulling("me")
      let places = (1...3).map { place(11, $0) }
      for (place, isTaken) in zip(places, [false, false, true]) {
        #expect(state.received(message(place)) == .new(acknowledgment: place))
        let isOpen = state.finished(place, isTaken: isTaken)
        #expect(isOpen)
      }
      #expect(state.received(message(place(11, 4))) == .unwanted(acknowledgment: place(11, 4)))
    }

    @Test("R7 That the consumer of a group was deleted is reported, whatever this relay has heard")
    func deletedOfGroup() {
      var state = DurableState(options("g-1"), id: "x", sharing: patterns("a")[0], number: 10)
      func connect(last: Int) -> String? {
        state.connected(info)
        _ = locate(&state)
        let numbers = #"{"consumer_seq":0,"stream_seq":\#(last)}"#
        return answer(&state, #"{"delivered":\#(numbers),"num_ack_pending":0}"#)
      }
      #expect(connect(last: 10) == nil)
      // Another relay had the message before it, which may not have been acknowledged.
      let second = "$JS.ACK.S.g-1.1.12.2.0.0"
      #expect(state.received(message(second)) == .new(acknowledgment: second))
      #expect(connect(last: 12)?.contains("has been deleted") == true)
    }

    @Test("R7 That a consumer with a name was deleted while nobody pulled is reported, once")
    func deletedUnseen() {
      var state = DurableState(options("me"), id: "x")
      state.setPatterns(patterns("a"))
      /// - Parameters:
      ///   - sent: How many messages the consumer has sent.
      ///   - last: The last message before those that it sends next.
      ///   - stream: When the stream was created.
      ///   - pending: How many messages have not been acknowledged.
      func connect(
        sent: Int, last: Int = 10, stream: String = "2026", pending: Int = 0
      ) -> String? {
        seconds += 1
        state.connected(info)
        while state.phase == .gathering { state.tick() }
        state.requests = state.requests.filter { $0.subject.hasSuffix("STREAM.INFO.S") }
        #expect(locate(&state, created: stream) == nil)
        state.requests = state.requests.filter { $0.subject.contains("CONSUMER.CREATE.") }
        let place =
          #"{"consumer_seq":\#(sent),"stream_seq":\#(last)},"num_ack_pending":\#(pending)"#
        return answer(
          &state, #"{"created":"2026-11-29T07:36:\#(seconds).1Z","delivered":\#(place)}"#)
      }
      var seconds = 10
      #expect(connect(sent: 0) == nil)
      #expect(connect(sent: 0) == nil)
      // A server that was restarted names another time, and the same consumer.
      #expect(connect(sent: 3) == nil)
      #expect(connect(sent: 3) == nil)
      #expect(connect(sent: 0, last: 11)?.contains("\"me\" has been deleted") == true)
      #expect(connect(sent: 0, last: 11) == nil)
      let place = "$JS.ACK.S.me.1.12.1.0.0"
      #expect(state.received(message(place)) == .new(acknowledgment: place))
      #expect(connect(sent: 0, last: 13) != nil)
      #expect(connect(sent: 1, last: 13, pending: 1) == nil)
      // Nobody knows which messages were not acknowledged: later ones may have been.
      let later = "$JS.ACK.S.me.1.14.2.0.0"
      #expect(state.received(message(later)) == .new(acknowledgment: later))
      #expect(connect(sent: 0, last: 14) != nil)
      // With the stream, all of its consumers are gone; the new one is heard from the beginning.
      #expect(connect(sent: 0, stream: "2027") == nil)
    }

    @Test("R7 A server that is killed before it stores how far a consumer was has deleted nothing")
    func unstoredConsumer() {
      var state = pulling("me")
      func connect(_ sent: Int, last: Int) -> String? {
        state.connected(info)
        _ = locate(&state)
        let numbers = #"{"consumer_seq":\#(sent),"stream_seq":\#(last)}"#
        return answer(&state, #"{"delivered":\#(numbers),"num_ack_pending":0}"#)
      }
      #expect(connect(0, last: 10) == nil)
      for number in 1...3 {
        _ = state.received(message("$JS.ACK.S.me.1.\(number + 10).\(number).0.0"))
      }
      // It begins after what was heard, or before.
      #expect(connect(0, last: 13) == nil)
      _ = state.received(message("$JS.ACK.S.me.1.14.1.0.0"))
      #expect(connect(0, last: 12) == nil)
    }

    @Test("R7 A JetStream that is not ready after a restart is asked again before that is reported")
    func notReady() {
      var state = pulling("me")
      state.disconnected()
      state.connected(info)
      let refusal = #"{"error":{"code":503,"err_code":10008,"description":"unavailable"}}"#
      var told: [String] = []
      for (round, seconds) in [5, 10, 5, 10, 5, 10].enumerated() {
        #expect(answer(&state, refusal) == nil)
        #expect(state.phase == .locating)
        told += (1...seconds).compactMap { _ in state.tick() }
        #expect(told.count == min(round, 1))
        #expect(state.requests.last?.subject == "$JS.API.STREAM.INFO.S")
      }
      #expect(told[0].contains("unavailable"))
      #expect(locate(&state) == nil)
      // One that has never known the stream reports the refusal at once.
      var other = DurableState(options(nil), id: "x")
      other.setPatterns(patterns("a"))
      other.connected(info)
      #expect(answer(&other, refusal)?.contains("unavailable") == true)
    }

    @Test("R4 What was heard is known again, though a server's clock is behind that of another one")
    func clockBehind() {
      var deliveries = NamedDeliveries()
      func hear(_ number: Int, at time: Int, count: Int = 1) -> DurableState.News {
        let reply = "$JS.ACK.S.me.\(count).\(number).\(number).\(time).0"
        let news = deliveries.hear(StreamPlace(reply)!, isWanted: true)
        _ = deliveries.finished(reply, isTaken: true)
        return news
      }
      for number in 1...20_000 { _ = hear(number, at: 1_000_000 + number) }
      for number in 20_001...20_100 { _ = hear(number, at: number) }
      for number in [19_000, 20_001, 20_100] {
        let time = number > 20_000 ? number : 1_000_000 + number
        let reply = "$JS.ACK.S.me.2.\(number).\(number).\(time).0"
        #expect(hear(number, at: time, count: 2) == .unwanted(acknowledgment: reply))
      }
    }

    @Test("R4 What a stream before had under a number is not acknowledged to the next one")
    func finishedLate() {
      var state = pulling("me")
      let first = place(11, 1)
      #expect(state.received(message(first)) == .new(acknowledgment: first))
      state.connected(info)
      while state.phase == .gathering { state.tick() }
      state.requests = state.requests.filter { $0.subject.hasSuffix("STREAM.INFO.S") }
      _ = locate(&state, last: 20, created: "2027")
      _ = answer(&state)
      let second = "$JS.ACK.S.me.1.11.1.5.0"
      #expect(state.received(message(second)) == .new(acknowledgment: second))
      let isFirstFinished = state.finished(first, isTaken: true)
      #expect(!isFirstFinished)
      let isSecondFinished = state.finished(second, isTaken: true)
      #expect(isSecondFinished)
      let isFinishedAgain = state.finished(second, isTaken: true)
      #expect(!isFinishedAgain)
    }

    @Test("The pulls of a connection end with it")
    func pullsOfConnections() throws {
      var state = located("me")
      _ = answer(&state)
      let (before, next) = (state.pullInbox, state.nextPullInbox)
      #expect(try #require(state.requests.last).token.hasPrefix(before + "."))
      state.disconnected()
      #expect(state.requests.isEmpty)
      state.connected(info)
      #expect(state.pullInbox == next && next != before)
    }

    @Test("A pull also ends for its bytes; where one message has more, the next pull asks for more")
    func bytesOfPulls() {
      for name in [nil, "me"] {
        var state = pulling(name)
        func asksFor(_ count: Int) -> Bool {
          let pull = asked(&state).last { $0.subject.hasPrefix("CONSUMER.MSG.NEXT") }
          return pull?.body.contains("\"max_bytes\":\(count)") == true
        }
        func end(
          _ text: String = "409 Message Size Exceeds MaxBytes", left: UInt64 = 0
        ) -> DurableState.News {
          let pending = "Nats-Pending-Messages: \(UInt64.max)\r\nNats-Pending-Bytes: \(left)"
          return state.received(
            message(nil, "NATS/1.0 \(text)\r\n\(pending)\r\n\r\n", subject: "p1.2"))
        }
        state.requests = []
        // It has brought all.
        #expect(end("409 Batch Completed") == .none)
        #expect(state.phase == .pulling && asksFor(2 << 20))
        for _ in 1...3 {
          // Two pulls end at once for one message.
          #expect(end(left: 1_000) == .none)
          #expect(asksFor(2 << 20))
        }
        #expect(end(left: 2 << 20) == .none)
        #expect(asksFor(4 << 20))
        #expect(end(left: 2 << 20) == .none)
        #expect(asksFor(4 << 20))
        while !asksFor(1 << 30), state.phase == .pulling { _ = end(left: .max) }
        guard state.phase == .pulling, case .refusal = end(left: .max) else {
          Issue.record("a message that cannot be sent is asked for again and again")
          continue
        }
        #expect(state.phase == .locating)
      }
    }

    @Test("A pull that ends without a word does not keep the next from being asked for")
    func silentEnd() {
      for name in [nil, "me"] {
        var state = pulling(name)
        func count() -> Int {
          asked(&state).filter { $0.subject.hasPrefix("CONSUMER.MSG.NEXT") }.count
        }
        state.requests = []
        for _ in 1...5 { state.tick() }
        #expect(count() == 0)
        state.tick()
        #expect(count() == 1)
        for _ in 1...4 { state.tick() }
        state.tick()
        #expect(state.phase == .locating)
      }
    }

    @Test("A server that claims to have the last of all messages does no harm")
    func largestNumber() {
      var state = DurableState(options(nil), id: "x")
      state.setPatterns(patterns("a"))
      state.connected(info)
      let json = #"{"created":"2026","state":{"last_seq":\#(UInt64.max)}}"#
      #expect(answer(&state, json) == nil)
      #expect(state.phase == .creatingConsumer)
    }

    @Test("What is no place in a stream is none")
    func places() {
      #expect(StreamPlace("$JS.ACK.S.c.1.11.2.0.0")?.streamSequence == 11)
      #expect(StreamPlace("$JS.ACK.d.a.S.c.1.11.2.0.0.r")?.consumerSequence == 2)
      for text in [nil, "", "a.b", "$JS.ACK.S.c.1.x.2.0.0", "$JS.ACK.S.c.1.1.2.0"] {
        #expect(StreamPlace(text) == nil)
      }
    }
  }

  extension [UInt8] {
    fileprivate func contains(_ text: String) -> Bool {
      String(decoding: self, as: UTF8.self).contains(text)
    }
  }

  @Suite("Patterns that one consumer has")
  struct ConsumerFilterTests {
    @Test("What others cover is left out")
    func filters() throws {
      for (patterns, filters) in [
        ("a b", "a b"), ("a.> a.b a.*.c d", "a.> d"), ("a.* *.b", "a.* *.b"), ("> a", ">"),
        ("a a.* a.*.b", "a a.* a.*.b"), ("a.> a.*", "a.>"), ("a.* a.>", "a.>"),
        ("a.b.> a.>", "a.>"), ("*.> a.>", "*.>"), ("a.*.> a.>", "a.>"),
      ] {
        let all = try patterns.split(separator: " ").map {
          try SubjectPattern(validating: String($0))
        }
        #expect(ConsumerTerms.filters(all).joined(separator: " ") == filters, "\(patterns)")
      }
    }

    @Test("If a server refuses filters that overlap, all that the stream has is asked for")
    func overlapping() throws {
      var terms = ConsumerTerms(name: "me")
      terms.isRecent = true
      let all = try ["a.*", "*.b"].map { try SubjectPattern(validating: $0) }
      #expect(terms.configuration("me", of: all, after: 0).filter_subjects == ["a.*", "*.b"])
      let isRelaxed = terms.relax(for: .init(code: 400, err_code: 10_138))
      #expect(isRelaxed)
      #expect(terms.configuration("me", of: all, after: 0).filter_subjects == nil)
    }
  }
#endif
