#if NATS
  import CampanileRelay
  import NIOCore

  /// What one relay does on NATS, without connections and without a clock.
  ///
  /// It outlives connections. What is to be sent on the present one is written to ``output``, what
  /// the relay is to be told is added to ``incidents``; whoever asks takes both.
  struct NATSSession {
    struct Subscription {
      var sid: UInt64
      var pattern: SubjectPattern
      /// Whether it is for requests.
      var answers: Bool
    }

    let id: UInt64
    let name: String
    let processID: Int32
    /// What is written before the numbers of a message.
    let idText: String
    let nameText: String
    /// Where answers to this relay are sent: tokens after this.
    let inbox: String

    var output = ByteBuffer()
    var incidents: [RelayIncident] = []
    var outbox: Outbox
    /// Whether there is a connection, and what its server takes.
    private(set) var server: ServerInfo?
    private var subscriptions: [UInt64: Subscription] = [:]
    private var lastSid: UInt64 = Self.firstSid
    private var sent = SentNumbers()
    private var heard = HeardNumbers()
    var requests = RequestTable()
    var presence = Presence()
    /// Whether a ping that confirms what was sent has no answer yet.
    private var isPinging = false
    /// Whether a ping is to follow the output.
    private var wantsPing = false
    private var bytesSincePing = 0
    private var headers = ByteBuffer()

    // The subscriptions of each relay: answers to it, and the presence of others.
    static let inboxSid: UInt64 = 1
    static let presenceSid: UInt64 = 2
    static let firstSid: UInt64 = 9

    init(
      id: UInt64, name: String, processID: Int32, inboxPrefix: String = "_INBOX",
      keepsNewest: Bool = true, limit: Int = 8 << 20
    ) {
      (self.id, self.name, self.processID) = (id, name, processID)
      idText = String(id, radix: 16)
      nameText = SubjectName.escaped(name)
      inbox = "\(inboxPrefix).\(idText)."
      outbox = Outbox(keepsNewest: keepsNewest, limit: limit)
    }

    // MARK: What the relay wants

    mutating func perform(_ operation: RelayOperation) {
      switch operation {
      case .subscribe(let pattern): subscribe(pattern, answers: false)
      case .answer(let pattern): subscribe(pattern, answers: true)
      case .unsubscribe(let pattern): unsubscribe(pattern, answers: false)
      case .stopAnswering(let pattern): unsubscribe(pattern, answers: true)
      case .post(let subject, let version, let path, let payload):
        guard check(subject) else { return }
        let (number, since) = sent.next(subject)
        let post = Outbox.Post(
          subject: subject, number: number, since: since, version: version, path: path,
          payload: payload)
        outbox.append(post) { subject in
          incidents.addLoss(
            sender: id, subject, 1,
            "More was posted than the relay's buffer holds until it is sent.")
        }
      case .request(let correlation, let subject, let version, let payload, let milliseconds):
        guard check(subject) else {
          return incidents.append(.reply(correlation: correlation, .nobodyAnswers, payload: []))
        }
        requests.asked(correlation, seconds: Int(milliseconds / 1_000) + 1)
        outbox.append(
          .request(
            correlation: correlation, subject: subject, version: version, payload: payload))
      case .reply(_, let correlation, let status, let payload):
        guard let subject = requests.answered(correlation) else { return }
        outbox.append(.reply(to: subject, hasFailed: status != .answered, payload: payload))
      case .flush(let token): outbox.append(.flush(token))
      }
    }

    private mutating func check(_ subject: String) -> Bool {
      if NATSSubject.isName(subject) { return true }
      incidents.append(
        .refused(
          subject: subject,
          "NATS takes names of \(NATSSubject.limit) bytes at the most, tokens with dots between "
            + "them, without spaces and without the signs * and >."))
      return false
    }

    private mutating func subscribe(_ pattern: String, answers: Bool) {
      guard pattern.utf8.count <= NATSSubject.limit,
        let known = try? SubjectPattern(validating: pattern)
      else {
        return incidents.append(.denied(subject: pattern, "NATS takes no such pattern of names."))
      }
      lastSid += 1
      subscriptions[lastSid] = Subscription(sid: lastSid, pattern: known, answers: answers)
      if server != nil { output.writeSubscribe(pattern, sid: lastSid) }
    }

    private mutating func unsubscribe(_ pattern: String, answers: Bool) {
      let found = subscriptions.values.first { $0.pattern.text == pattern && $0.answers == answers }
      guard let found else { return }
      subscriptions[found.sid] = nil
      if server != nil { output.writeUnsubscribe(sid: found.sid) }
      if !answers { heard.forget { found.pattern.matches($0) } }
    }

    // MARK: Connections

    /// All subscriptions, for a new connection.
    func writeSubscriptions(to output: inout ByteBuffer) {
      output.writeSubscribe(inbox + "*", sid: Self.inboxSid)
      output.writeSubscribe(NATSSubject.presence, sid: Self.presenceSid)
      for subscription in subscriptions.values.sorted(by: { $0.sid < $1.sid }) {
        output.writeSubscribe(subscription.pattern.text, sid: subscription.sid)
      }
    }

    /// A connection is there.
    ///
    /// - Parameter isSubscribed: Whether it takes the place of one that was there until now.
    mutating func connected(_ info: ServerInfo, isSubscribed: Bool = false) {
      server = info
      output.clear()
      isPinging = false
      if isSubscribed { return }
      writeSubscriptions(to: &output)
      announce(asksForAnswers: true)
      incidents.append(.connected)
    }

    /// The server has changed what it takes.
    mutating func updated(_ info: ServerInfo) { if server != nil { server = info } }

    mutating func disconnected(_ reason: String) {
      guard server != nil else { return incidents.append(.disconnected(reason)) }
      server = nil
      lost()
      presence.disconnect()
      incidents += [.peers([]), .disconnected(reason)]
    }

    /// What was sent on a connection that has ended is to be sent again, or has failed.
    mutating func lost() {
      output.clear()
      (isPinging, wantsPing) = (false, false)
      for correlation in outbox.disconnect() where requests.ended(correlation) {
        incidents.append(.reply(correlation: correlation, .disconnected, payload: []))
      }
    }

    // MARK: Sending

    /// Writes what waits, as far as the window allows.
    ///
    /// - Returns: Whether a ping is to follow, and what it confirms.
    mutating func write() -> UInt64? {
      guard let server else { return nil }
      while let (item, mark) = outbox.next() {
        switch item {
        case .post(let post):
          writeEnvelope(number: post.number, since: post.since, post.version, post.path)
          publish(post.subject, nil, post.payload, mark, server)
        case .request(let correlation, let subject, let version, let payload):
          writeEnvelope(number: 0, since: 0, version, [])
          if !publish(subject, inbox + String(correlation), payload, mark, server),
            requests.ended(correlation)
          {
            incidents.append(.reply(correlation: correlation, .nobodyAnswers, payload: []))
          }
        case .reply(let subject, let hasFailed, let payload):
          headers.clear()
          headers.writeHeaderStart()
          if hasFailed {
            headers.writeHeader("Nats-Service-Error", Self.line(payload))
            headers.writeHeader("Nats-Service-Error-Code", "500")
          }
          headers.writeHeaderEnd()
          publish(subject, nil, payload, mark, server)
        case .flush: wantsPing = true
        }
      }
      guard wantsPing || bytesSincePing > 256 << 10 || outbox.isAwaiting && !isPinging else {
        return nil
      }
      (wantsPing, isPinging, bytesSincePing) = (false, true, 0)
      return outbox.sentMark
    }

    private mutating func writeEnvelope(
      number: UInt64, since: UInt64, _ version: UInt32, _ path: [UInt64]
    ) {
      headers.clear()
      headers.writeHeaderStart()
      headers.writeEnvelope(
        sender: idText, number: number, since: since, version: version, name: nameText, path: path)
      headers.writeHeaderEnd()
    }

    /// - Returns: Whether the server takes as much.
    @discardableResult
    private mutating func publish(
      _ subject: String, _ reply: String?, _ payload: [UInt8], _ mark: UInt64, _ server: ServerInfo
    ) -> Bool {
      let size = headers.readableBytes + payload.count
      if size > server.maxPayload {
        outbox.drop(mark)
        incidents.append(
          .refused(
            subject: subject,
            "A message has \(size) bytes with its headers; the server takes \(server.maxPayload) at "
              + "the most."))
        return false
      }
      output.writePublish(subject, reply: reply, headers: headers, payload: payload)
      bytesSincePing += size
      return true
    }

    /// Text for a header, which ends at a line break.
    private static func line(_ text: [UInt8]) -> String {
      String(decoding: text.prefix(512).map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
    }

    /// The server has taken all up to a mark.
    mutating func confirmed(_ mark: UInt64) {
      isPinging = false
      for token in outbox.confirm(through: mark) { incidents.append(.flushed(token)) }
    }

    // MARK: Receiving

    mutating func received(_ message: ServerMessage) {
      switch message.sid {
      case Self.inboxSid: receivedAnswer(message)
      case Self.presenceSid: receivedPresence(message)
      default:
        guard let subscription = subscriptions[message.sid] else { return }
        if NATSSubject.isInternal(message.subject),
          !NATSSubject.isInternal(subscription.pattern.text)
        {
          return
        }
        let envelope = Envelope(message.headers)
        if subscription.answers {
          receivedRequest(message, envelope)
        } else {
          received(message, envelope)
        }
      }
    }

    private mutating func received(_ message: ServerMessage, _ envelope: Envelope?) {
      guard let envelope else {
        return incidents.append(
          .message(
            sender: 0, subject: message.subject, version: 0, path: [], payload: message.payload))
      }
      // A request is for those who answer; what one has sent oneself is not heard.
      if envelope.isRequest || envelope.sender == id { return }
      switch heard.hear(
        envelope.number, since: envelope.since, from: envelope.sender, message.subject)
      {
      case .double: return
      case .new(let lost):
        know(envelope)
        if lost > 0 {
          incidents.addLoss(
            sender: envelope.sender, message.subject, lost,
            "The connection was interrupted, or the server dropped what was not read in time.")
        }
        incidents.append(
          .message(
            sender: envelope.sender, subject: message.subject, version: envelope.version,
            path: envelope.path, payload: message.payload))
      }
    }

    private mutating func receivedRequest(_ message: ServerMessage, _ envelope: Envelope?) {
      guard let reply = message.reply, envelope?.isRequest ?? true,
        let correlation = requests.received(reply)
      else { return }
      if let envelope { know(envelope) }
      incidents.append(
        .request(
          from: envelope?.sender ?? 0, correlation: correlation, subject: message.subject,
          version: envelope?.version ?? 0, payload: message.payload))
    }

    private mutating func receivedAnswer(_ message: ServerMessage) {
      guard message.subject.hasPrefix(inbox) else { return }
      let token = message.subject.dropFirst(inbox.count)
      if token == Self.presenceToken { return receivedPresence(message) }
      guard let correlation = UInt64(token), requests.ended(correlation) else { return }
      if message.headers.status == 503 {
        incidents.append(.reply(correlation: correlation, .nobodyAnswers, payload: []))
      } else if let error = message.headers.text(of: "Nats-Service-Error") {
        let payload = message.payload.isEmpty ? Array(error.utf8) : message.payload
        incidents.append(.reply(correlation: correlation, .failed, payload: payload))
      } else {
        incidents.append(.reply(correlation: correlation, .answered, payload: message.payload))
      }
    }

    /// The server doesn't permit something.
    mutating func denied(_ denial: ConnectionState.Denial) {
      switch denial.subject {
      case NATSSubject.presence, inbox + "*":
        // Without it nobody is known; without answers requests time out.
        incidents.append(.denied(subject: denial.subject, denial.text))
      case let subject:
        if denial.kind == .subscribing {
          // Final: the server has no such subscription.
          subscriptions = subscriptions.filter { $0.value.pattern.text != subject }
        }
        incidents.append(.denied(subject: subject, denial.text))
      }
    }

    // MARK: Presence

    private static let presenceToken = "here"

    private mutating func know(_ envelope: Envelope) {
      if presence.heard(from: envelope.sender, name: envelope.name) {
        incidents.append(.peers(presence.list))
      }
    }

    private mutating func receivedPresence(_ message: ServerMessage) {
      guard let line = Presence.Line(message.payload), line.id != id else { return }
      if presence.heard(line) { incidents.append(.peers(presence.list)) }
      if let reply = message.reply, NATSSubject.isName(reply) { announce(to: reply) }
    }

    /// Says that this relay is there, or that it leaves.
    private mutating func announce(
      to subject: String = NATSSubject.presence, asksForAnswers: Bool = false, leaves: Bool = false
    ) {
      let line = Presence.Line(
        id: id, processID: processID, seconds: leaves ? 0 : presence.interval, name: name)
      output.writePublish(
        subject, reply: asksForAnswers ? inbox + Self.presenceToken : nil, headers: ByteBuffer(),
        payload: Array(line.text.utf8))
    }

    /// A second has gone by.
    mutating func tick() {
      for correlation in requests.tick() {
        incidents.append(.reply(correlation: correlation, .timedOut, payload: []))
      }
      guard server != nil else { return }
      let (hasChanged, announces) = presence.tick()
      if hasChanged { incidents.append(.peers(presence.list)) }
      if announces { announce() }
    }

    /// The relay ends.
    mutating func leave() { if server != nil { announce(leaves: true) } }
  }

  extension [RelayIncident] {
    /// Adds a loss; several of one kind in a row are one.
    fileprivate mutating func addLoss(
      sender: UInt64, _ subject: String, _ count: Int, _ reason: String
    ) {
      guard case .lost(sender, subject, .some(let before), reason)? = last else {
        return append(.lost(sender: sender, subject: subject, count: count, reason))
      }
      self[self.count - 1] = .lost(
        sender: sender, subject: subject, count: before + count, reason)
    }
  }
#endif
