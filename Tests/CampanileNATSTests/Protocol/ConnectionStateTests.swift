#if NATS
  import Testing

  @testable import CampanileNATS

  @Suite("A connection with a server of NATS")
  struct ConnectionStateTests {
    private var info: ServerInfo {
      var info = ServerInfo()
      info.hasHeaders = true
      return info
    }

    private func act(
      _ state: inout ConnectionState,
      _ body: (inout ConnectionState, inout [ConnectionState.Action]) -> Void
    ) -> [ConnectionState.Action] {
      var actions: [ConnectionState.Action] = []
      body(&state, &actions)
      return actions
    }

    private func receive(
      _ state: inout ConnectionState, _ frame: ServerFrame
    ) -> [ConnectionState.Action] {
      act(&state) { $0.received(frame, &$1) }
    }

    private func opened() -> ConnectionState {
      var state = ConnectionState()
      _ = receive(&state, .info(info))
      _ = receive(&state, .pong)
      return state
    }

    @Test("Is open once the server has answered the first ping")
    func opening() {
      var state = ConnectionState()
      #expect(receive(&state, .info(info)) == [.update(info), .introduce(info), .sendPing])
      #expect(!state.isOpen)
      // A second INFO follows a CONNECT at once.
      #expect(receive(&state, .info(info)) == [.update(info)])
      #expect(receive(&state, .pong) == [.open(info)])
      #expect(state.isOpen)
    }

    @Test("Pongs confirm what was sent before their pings, in order")
    func confirming() {
      var state = opened()
      state.pinged(marking: 5)
      state.pinged(marking: 9)
      #expect(receive(&state, .pong) == [.confirmed(5)])
      #expect(receive(&state, .pong) == [.confirmed(9)])
      #expect(receive(&state, .pong) == [])
    }

    @Test("Answers pings at any time")
    func pings() {
      var state = ConnectionState()
      #expect(receive(&state, .ping) == [.sendPong])
      state = opened()
      #expect(receive(&state, .ping) == [.sendPong])
    }

    @Test("Pings after ten seconds, and gives up after two that are not answered")
    func silence() {
      var state = opened()
      var pings = 0
      for second in 1...30 {
        let actions = act(&state) { $0.tick(isReading: true, &$1) }
        if actions == [.sendPing] { pings += 1 }
        #expect(actions.isEmpty || second % 10 == 0)
      }
      #expect(pings == 2)
      #expect(state.isClosed)
    }

    @Test("The times are those that were set")
    func times() {
      var state = ConnectionState(openingLimit: 2, pingInterval: 3)
      for _ in 1...2 { #expect(act(&state) { $0.tick(isReading: true, &$1) } == []) }
      let late = act(&state) { $0.tick(isReading: true, &$1) }
      #expect(late == [.close("The server doesn't answer within 2 seconds.")])
      state = ConnectionState(openingLimit: 2, pingInterval: 3)
      _ = receive(&state, .info(info))
      _ = receive(&state, .pong)
      for second in 1...8 {
        let actions = act(&state) { $0.tick(isReading: true, &$1) }
        #expect(actions == (second % 3 == 0 ? [.sendPing] : []))
      }
    }

    @Test("A server that answers, or that is not read, is not given up")
    func noSilence() {
      var state = opened()
      for _ in 1...100 {
        if !act(&state, { $0.tick(isReading: true, &$1) }).isEmpty { _ = receive(&state, .pong) }
      }
      #expect(state.isOpen)
      for _ in 1...100 { #expect(act(&state) { $0.tick(isReading: false, &$1) } == []) }
      #expect(state.isOpen)
    }

    @Test("A server that sends all the time is given up late, if it never answers")
    func answersLate() {
      let message = ServerMessage(subject: "a", sid: 1, reply: nil, headers: .none, payload: [])
      var state = opened()
      for _ in 1...300 {
        #expect(receive(&state, .messages([message])) == [.messages([message])])
        let actions = act(&state) { $0.tick(isReading: true, &$1) }
        #expect(actions.isEmpty || actions == [.sendPing])
      }
      for _ in 1...10 {
        _ = receive(&state, .messages([message]))
        _ = act(&state) { $0.tick(isReading: true, &$1) }
      }
      #expect(state.isClosed)
    }

    @Test("A server whose answer is not read is not given up")
    func opensUnread() {
      var state = ConnectionState()
      for _ in 1...100 { #expect(act(&state) { $0.tick(isReading: false, &$1) } == []) }
      for _ in 1...4 { #expect(act(&state) { $0.tick(isReading: true, &$1) } == []) }
      #expect(!state.isClosed)
    }

    @Test("A server that says nothing, or accepts nobody, is given up after five seconds")
    func opensTooLate() {
      for isGreeted in [false, true] {
        var state = ConnectionState()
        if isGreeted { _ = receive(&state, .info(info)) }
        for _ in 1...5 { #expect(act(&state) { $0.tick(isReading: true, &$1) } == []) }
        let last = act(&state) { $0.tick(isReading: true, &$1) }
        #expect(last == [.close("The server doesn't answer within 5 seconds.")])
        #expect(receive(&state, .pong) == [])
      }
    }

    @Test("A refusal closes with the server's words, and so does an end that they explain")
    func errors() {
      var state = ConnectionState()
      _ = receive(&state, .info(info))
      #expect(
        receive(&state, .error("Authorization Violation")) == [
          .close("The server refuses the connection: Authorization Violation.")
        ])
      state = opened()
      #expect(receive(&state, .error("Stale Connection")) == [])
      #expect(state.closed(nil) == "The server ended the connection: Stale Connection.")
      state = opened()
      #expect(state.closed(nil) == nil)
      state = ConnectionState()
      #expect(state.closed(nil) != nil)
    }

    @Test(
      "What a server says last explains the end of the connection",
      arguments: [
        "User Authentication Expired", "Account Authentication Expired",
        "maximum connections exceeded", "Secure Connection - TLS Required",
        "Maximum Payload Violation", "Connection throttling is active. Please try again later.",
      ])
    func lastWords(text: String) {
      var state = opened()
      #expect(receive(&state, .error(text)) == [])
      #expect(state.closed(nil) == "The server ended the connection: \(text).")
      state = ConnectionState()
      _ = receive(&state, .info(info))
      #expect(
        receive(&state, .error(text)) == [.close("The server refuses the connection: \(text).")])
    }

    @Test(
      "The subject of a denial is read from each form that servers write",
      arguments: [
        (#"Permissions Violation for Subscription to "a.>" using queue "q""#, "a.>"),
        (#"Permissions Violation for Subscription to "a.>" (sid "9")"#, "a.>"),
        (#"Permissions Violation for Subscription to "a", too many tokens"#, "a"),
        (#"Permissions Violation for Publish with Reply of "b""#, "b"),
        (#"Permissions Violation for Publish to "a\u200db\U000e0001c""#, "a\u{200D}b\u{E0001}c"),
        (#"Permissions Violation for Publish to "a\u20"#, "a "),
        (#"Permissions Violation for Publish to "a\"#, "a\\"),
        (#"Permissions Violation for Publish to nothing"#, nil),
        (#"Invalid Publish Subject"#, nil),
      ] as [(String, String?)])
    func quotedSubjects(text: String, subject: String?) {
      var state = opened()
      guard case .denied(let denial)? = receive(&state, .error(text)).first else {
        Issue.record("it is no denial")
        return
      }
      #expect(denial.subject == subject)
      #expect(state.isOpen)
    }

    @Test("What is not permitted is told, and the connection lives")
    func denials() {
      var state = opened()
      let denial = ConnectionState.Denial(
        kind: .subscribing, subject: "a.>",
        text: "Permissions Violation for Subscription to \"a.>\"")
      #expect(receive(&state, .error(denial.text)) == [.denied(denial)])
      let quoted = ConnectionState.Denial(
        kind: .publishing, subject: "a\"\\b",
        text: #"Permissions Violation for Publish to "a\"\\b" using "c""#)
      #expect(receive(&state, .error(quoted.text)) == [.denied(quoted)])
      let other = ConnectionState.Denial(
        kind: .publishing, subject: "b", text: "Permissions Violation for Publish to \"b\"")
      #expect(receive(&state, .error(other.text)) == [.denied(other)])
      let full = receive(&state, .error("maximum subscriptions exceeded"))
      #expect(
        full == [
          .denied(.init(kind: .other, subject: nil, text: "maximum subscriptions exceeded"))
        ])
      #expect(state.isOpen)
    }

    @Test("Messages before the connection is accepted, and servers without headers, are refused")
    func refusals() {
      let message = ServerMessage(subject: "a", sid: 1, reply: nil, headers: .none, payload: [])
      var state = ConnectionState()
      guard case .close = receive(&state, .messages([message])).last else {
        Issue.record("A message was taken.")
        return
      }
      state = ConnectionState()
      guard case .close = receive(&state, .info(ServerInfo())).last else {
        Issue.record("An old server was taken.")
        return
      }
    }
  }
#endif
