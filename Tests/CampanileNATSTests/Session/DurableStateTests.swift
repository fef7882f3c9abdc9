#if NATS
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

    private func message(
      _ reply: String?, _ headers: String = "", _ payload: String = ""
    ) -> ServerMessage {
      ServerMessage(
        subject: "a", sid: 3, reply: reply, headers: HeaderBlock(bytes: Array(headers.utf8)),
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

    @Test("A consumer without a name goes on after the last message, when anything is missing")
    func ordered() {
      var state = DurableState(options(nil), id: "x")
      state.setPatterns(["a"])
      state.connected(info)
      #expect(state.phase == .creatingConsumer)
      #expect(answer(&state, #"{"delivered":{"stream_seq":10}}"#) == nil)
      #expect(state.isReady)
      #expect(asked(&state).map(\.subject) == ["CONSUMER.MSG.NEXT.S.relayxn1"])
      #expect(state.received(message("$JS.ACK.S.c.1.11.1.0.0")) == .new(acknowledgment: nil))
      #expect(state.received(message("$JS.ACK.S.c.1.12.2.0.0")) == .new(acknowledgment: nil))
      // The third is missing.
      #expect(state.received(message("$JS.ACK.S.c.1.14.4.0.0")) == .none)
      let requests = asked(&state)
      #expect(requests.first?.subject == "CONSUMER.DELETE.S.relayxn1")
      #expect(requests.last?.subject == "CONSUMER.CREATE.S.relayxn2")
      #expect(requests.last?.body.contains("\"opt_start_seq\":13") == true)
    }

    @Test("A consumer with a name is asked for all that is to be heard, and for nothing twice")
    func named() {
      var state = DurableState(options("me"), id: "x")
      state.connected(info)
      state.setPatterns(["a"])
      state.tick()
      state.setPatterns(["a", "b.>"])
      state.tick()
      #expect(asked(&state).isEmpty)
      state.tick()
      #expect(
        state.requests.last.map { String(decoding: $0.json, as: UTF8.self) }?
          .contains("\"filter_subjects\":[\"a\",\"b.>\"]") == true)
      // What was sent to the process before has not been acknowledged: it comes first.
      #expect(answer(&state, #"{"num_ack_pending":3}"#) == nil)
      #expect(!state.isReady)
      for _ in 0...DurableState.acknowledgmentWait { state.tick() }
      #expect(state.isReady)
      let reply = "$JS.ACK.hub.acc.S.me.1.7.1.0.0.x"
      #expect(state.received(message(reply)) == .new(acknowledgment: reply))
      #expect(state.received(message(reply)) == .double(acknowledgment: reply))
    }

    @Test("Statuses of a pull")
    func statuses() {
      var state = DurableState(options(nil), id: "x")
      state.setPatterns(["a"])
      state.connected(info)
      _ = answer(&state)
      state.requests = []
      #expect(state.received(message(nil, "NATS/1.0 100 Idle Heartbeat\r\n\r\n")) == .none)
      #expect(state.requests.isEmpty)
      #expect(state.received(message(nil, "NATS/1.0 408 Request Timeout\r\n\r\n")) == .none)
      #expect(asked(&state).map(\.subject) == ["CONSUMER.MSG.NEXT.S.relayxn1"])
      #expect(state.received(message(nil, "NATS/1.0 409 Consumer Deleted\r\n\r\n")) == .none)
      #expect(asked(&state).last?.subject == "CONSUMER.CREATE.S.relayxn2")
      // Old pulls are not heard any more, and silence is no answer.
      #expect(state.received(message("$JS.ACK.S.c.1.11.1.0.0")) == .none)
      for _ in 1...5 { state.tick() }
      #expect(asked(&state).last?.subject == "CONSUMER.CREATE.S.relayxn3")
    }

    /// A consumer without a name that is asked for messages.
    private func pulling() -> DurableState {
      var state = DurableState(options(nil), id: "x")
      state.setPatterns(["a"])
      state.connected(info)
      _ = answer(&state)
      state.requests = []
      return state
    }

    @Test("No more is asked for than two pulls, whatever time goes by between messages")
    func bounded() {
      var state = pulling()
      var (open, sequence) = ([DurableState.batch], 0)
      for _ in 1...100 {
        // Two in three messages of a pull come, then the time of all pulls is over.
        for _ in 1...333 {
          sequence += 1
          _ = state.received(message("$JS.ACK.S.c.1.\(sequence).\(sequence).0.0"))
          open[0] -= 1
          if open[0] == 0 { open.removeFirst() }
          open += asked(&state).map { _ in DurableState.batch }
        }
        for rest in open {
          let header = "NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: \(rest)\r\n\r\n"
          _ = state.received(message(nil, header))
          open.removeFirst()
          open += asked(&state).map { _ in DurableState.batch }
          #expect(open.count <= 2)
          #expect(!open.isEmpty)
        }
      }
    }

    @Test("A heartbeat tells that the last message is missing")
    func lastMissing() {
      var state = pulling()
      _ = state.received(message("$JS.ACK.S.c.1.11.1.0.0"))
      state.requests = []
      let header = "NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: "
      #expect(state.received(message(nil, header + "1\r\n\r\n")) == .none)
      #expect(state.requests.isEmpty)
      #expect(state.received(message(nil, header + "2\r\n\r\n")) == .none)
      #expect(asked(&state).last?.body.contains("\"opt_start_seq\":12") == true)
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
      // There is a stream of this name already.
      for _ in 1...5 { state.tick() }
      #expect(answer(&state, #"{"error":{"code":400,"err_code":10058}}"#) == nil)
      #expect(state.isReady)
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

  @Suite("Patterns that one consumer has")
  struct PatternSetTests {
    @Test("What others cover is left out, and what overlaps is not filtered at all")
    func filters() {
      #expect(PatternSet.filters(["b", "a", "a"]) == ["a", "b"])
      #expect(PatternSet.filters(["a.>", "a.b", "a.*.c", "d"]) == ["a.>", "d"])
      #expect(PatternSet.filters(["a.*", "*.b"]) == [])
      #expect(PatternSet.filters([">", "a"]) == [">"])
      #expect(PatternSet.filters(["a.*", "a.*.b", "a"]) == ["a", "a.*", "a.*.b"])
      #expect(PatternSet.filters(["a.>", "a.*"]) == ["a.>"])
    }
  }
#endif
