#if NATS
  import NIOCore

  /// One connection with a server, without its socket and without a clock.
  struct ConnectionState {
    private enum Phase {
      case greeting  // the server says what it is
      case accepting  // the client has said who it is
      case open
      case closed  // terminal
    }

    enum Action: Equatable {
      /// The server has described itself; the client must now describe itself.
      indirect case introduce(ServerInfo)
      /// The server accepts everything from now on.
      indirect case open(ServerInfo)
      /// The server has described itself again.
      indirect case update(ServerInfo)
      case messages([ServerMessage])
      case sendPing
      case sendPong
      /// The server has accepted everything that was sent before a mark.
      case confirmed(UInt64)
      case denied(Denial)
      /// The connection must be closed; the reason is a sentence.
      case close(String)
    }

    /// Something that a server doesn't permit; it doesn't end the connection.
    struct Denial: Equatable {
      enum Kind { case publishing, subscribing, other }
      let kind: Kind
      let subject: String?
      let text: String
    }

    private var phase = Phase.greeting
    private(set) var info = ServerInfo()
    /// The marks of the unanswered pings; keep-alive pings have no mark.
    private var pings = CircularBuffer<UInt64?>()
    /// Counts seconds.
    private var age = 0
    /// How many keep-alive pings in a row have no answer.
    private var unanswered = 0
    /// How many of them the server has not sent anything after.
    private var ignored = 0
    /// So many answers may be missing while a server sends other frames, which may take long.
    private static let answerLimit = 30
    /// Whether a part of a frame, and a whole one, have arrived since the last second.
    private var (hasPart, hasFrame) = (false, false)
    /// Whether only parts of a long frame have arrived in the last second: nothing else arrives until
    /// the rest has.
    private(set) var isAmidFrame = false
    /// The last error that the server has reported, which explains why the connection ends.
    private var lastError: String?

    /// So many seconds a server has to accept a client.
    private let openingLimit: Int
    /// The number of seconds between two pings.
    private let pingInterval: Int

    init(openingLimit: Int = 5, pingInterval: Int = 10) {
      (self.openingLimit, self.pingInterval) = (openingLimit, pingInterval)
    }

    var isOpen: Bool { phase == .open }
    var isClosed: Bool { phase == .closed }

    // MARK: Receiving

    mutating func received(_ frame: ServerFrame, _ actions: inout [Action]) {
      if phase == .closed { return }
      (ignored, hasFrame) = (0, true)
      switch frame {
      case .messages(let messages):
        if phase == .open {
          actions.append(.messages(messages))
        } else {
          close("The server sent a message before it accepted the connection.", &actions)
        }
      case .info(let info): received(info, &actions)
      case .ping: actions.append(.sendPong)
      case .pong: pong(&actions)
      case .ok: break
      case .error(let text): received(error: text, &actions)
      }
    }

    /// A part of a frame has arrived, which may take long.
    mutating func receivedPart() {
      hasPart = true
      if phase == .open { ignored = 0 }
    }

    private mutating func received(_ info: ServerInfo, _ actions: inout [Action]) {
      let isFirst = phase == .greeting
      let isLameDuck = self.info.isLameDuck
      self.info = info
      // Said once: what a server reports of its cluster meanwhile is without it (`sendLDMToClients` of
      // nats-server).
      if isLameDuck { self.info.isLameDuck = true }
      guard isFirst else { return actions.append(.update(info)) }
      guard info.hasHeaders else {
        return close("The server is older than message headers, which a relay needs.", &actions)
      }
      phase = .accepting
      pings.append(nil)
      actions += [.update(info), .introduce(info), .sendPing]
    }

    private mutating func pong(_ actions: inout [Action]) {
      // An answer to no ping has no meaning.
      guard let mark = pings.popFirst() else { return }
      unanswered = 0
      if phase == .accepting {
        phase = .open
        actions.append(.open(info))
      }
      if let mark { actions.append(.confirmed(mark)) }
    }

    private mutating func received(error text: String, _ actions: inout [Action]) {
      let lowercased = text.lowercased()
      if lowercased.contains("permissions violation") {
        let kind: Denial.Kind =
          lowercased.contains("violation for publish")
          ? .publishing : lowercased.contains("violation for subscription") ? .subscribing : .other
        actions.append(.denied(Denial(kind: kind, subject: Self.quoted(text), text: text)))
      } else if lowercased.contains("subject") || lowercased.contains("subscriptions") {
        actions.append(.denied(Denial(kind: .other, subject: nil, text: text)))
      } else {
        lastError = text
        if phase != .open { close("The server refuses the connection: \(text).", &actions) }
      }
    }

    /// The first quoted part of a text, as the server's language quotes.
    ///
    /// A quotation mark and a backslash have a backslash before them. A character that cannot be
    /// printed is written as its number.
    private static func quoted(_ text: String) -> String? {
      guard let quote = text.firstIndex(of: "\"") else { return nil }
      var rest = text[quote...].dropFirst()
      var quoted = ""
      while let character = rest.popFirst(), character != "\"" {
        guard character == "\\", let escaped = rest.popFirst() else {
          quoted.append(character)
          continue
        }
        let digits = rest.prefix(escaped == "u" ? 4 : escaped == "U" ? 8 : 0)
        if let number = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(number) {
          quoted.unicodeScalars.append(scalar)
          rest = rest.dropFirst(digits.count)
        } else {
          quoted.append(escaped)
        }
      }
      return quoted
    }

    // MARK: Sending

    /// A ping was sent: its answer confirms what was sent before.
    mutating func pinged(marking mark: UInt64?) { pings.append(mark) }

    // MARK: Time and ends

    /// One second has passed.
    ///
    /// - Parameter isReading: Whether answers are read at all.
    mutating func tick(isReading: Bool, _ actions: inout [Action]) {
      isAmidFrame = hasPart && !hasFrame
      (hasPart, hasFrame) = (false, false)
      // An answer that is not read cannot be missed.
      if phase != .open, !isReading { return }
      age += 1
      switch phase {
      case .greeting, .accepting:
        // The first second may be shorter: the clock runs for all connections.
        if age > openingLimit {
          let limit = openingLimit == 1 ? "a second" : "\(openingLimit) seconds"
          close("The server doesn't answer within \(limit).", &actions)
        }
      case .open:
        guard isReading, age % pingInterval == 0 else { return }
        if ignored >= 2 {
          return close("The server has said nothing after two pings in a row.", &actions)
        }
        if unanswered >= Self.answerLimit {
          return close("The server has not answered \(unanswered) pings in a row.", &actions)
        }
        unanswered += 1
        ignored += 1
        pings.append(nil)
        actions.append(.sendPing)
      case .closed: break
      }
    }

    /// The connection has ended.
    ///
    /// - Returns: Why, as a sentence; nothing if it was open and the server gave no reason.
    mutating func closed(_ reason: String?) -> String? {
      defer { phase = .closed }
      if let lastError { return "The server ended the connection: \(lastError)." }
      return reason ?? (phase == .open ? nil : "The server ended the connection at once.")
    }

    private mutating func close(_ reason: String, _ actions: inout [Action]) {
      phase = .closed
      actions.append(.close(reason))
    }
  }
#endif
