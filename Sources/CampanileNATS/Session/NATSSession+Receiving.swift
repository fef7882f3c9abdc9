#if NATS
  import CampanileRelay
  import NIOCore

  extension NATSSession {
    // MARK: Receiving

    /// The meaning of a message of a subscription, by its subject.
    struct Meaning {
      let sid: UInt64
      let subject: String
      /// Whether it is for the subscription, which may be for requests.
      let isMeant: Bool
      let answers: Bool
      let group: String?
      /// Whether no other subscription receives it first.
      let isFirst: Bool
    }

    /// Handles messages that arrived together.
    mutating func received(_ messages: [ServerMessage]) {
      for index in messages.indices {
        // Read by its fields. A copy of the message would count a reference to each of them.
        guard let meaning, meaning.sid == messages[index].sid, meaning.group == nil,
          meaning.subject == messages[index].subject
        else {
          received(messages[index])
          continue
        }
        if !meaning.isMeant { continue }
        hear(
          messages[index].payload, Envelope(messages[index].headers), of: messages[index].subject,
          isFirst: meaning.isFirst)
      }
    }

    mutating func received(_ message: ServerMessage) {
      switch message.sid {
      case Self.inboxSid: receivedAnswer(message)
      case Self.presenceSid: receivedPresence(message)
      case let sid where sid == Self.streamSid || shared[sid] != nil: receivedStored(message)
      default:
        let meaning = meaning(of: message)
        if !meaning.isMeant { return }
        let envelope = Envelope(message.headers)
        if meaning.answers {
          receivedRequest(message, envelope)
        } else if let group = meaning.group {
          deliver(message, to: group) { _ in }
        } else {
          hear(message.payload, envelope, of: message.subject, isFirst: meaning.isFirst)
        }
      }
    }

    private mutating func meaning(of message: ServerMessage) -> Meaning {
      if let meaning, meaning.sid == message.sid, meaning.subject == message.subject {
        return meaning
      }
      let (sid, subject) = (message.sid, message.subject)
      let subscription = subscriptions[sid] ?? ending[sid]
      let found = Meaning(
        sid: sid, subject: subject,
        isMeant: subscription.map { isMeant($0, subject) } ?? false,
        answers: subscription?.answers == true, group: subscription?.group,
        isFirst: !subscriptions.values.contains {
          $0.group == nil && $0.sid < sid && isMeant($0, subject) && $0.pattern.matches(subject)
        })
      meaning = found
      return found
    }

    /// Whether a subscription may be about a subject that it matches.
    ///
    /// A subscription to everything leaves out the messages between relays and servers.
    private func isMeant(_ subscription: Subscription, _ subject: String) -> Bool {
      !isInternal(subject) || isInternal(subscription.pattern.text)
    }

    private func isInternal(_ subject: String) -> Bool {
      NATSSubject.isInternal(subject) || subject.hasPrefix(inboxPrefix)
    }

    @inline(__always)
    private mutating func hear(
      _ payload: [UInt8], _ envelope: Envelope?, of subject: String, isFirst: Bool
    ) {
      guard let envelope else {
        // The server sends it once for each pattern; it has no number to recognize it by.
        guard isFirst else { return }
        messageCount += 1
        return incidents.append(
          .message(sender: 0, subject: subject, version: 0, path: [], payload: payload))
      }
      // A request is for relays that answer, and a relay ignores its own messages.
      if envelope.isRequest || envelope.sender == id { return }
      switch heard.hear(
        envelope.number, since: envelope.since, from: envelope.sender, subject)
      {
      case .double: return
      case .new(let lost):
        nameSender(envelope)
        if let lost, lost > 0 {
          incidents.addLoss(sender: envelope.sender, subject, lost, Self.lossReason)
        } else if lost == nil {
          incidents.append(
            .lost(
              sender: envelope.sender, subject: subject, count: nil,
              "The number of the message is far from that of the one before, so nobody knows how "
                + "many are missing. Somebody else may have sent one of the two."))
        }
        messageCount += 1
        incidents.append(
          .message(
            sender: envelope.sender, subject: subject, version: envelope.version,
            path: envelope.path, payload: payload))
      }
    }

    private static let lossReason =
      "The connection was interrupted, or the server dropped what was not read in time."

    private mutating func receivedRequest(_ message: ServerMessage, _ envelope: Envelope?) {
      guard let reply = message.reply, envelope?.isRequest ?? true,
        envelope?.sender != id || isOpen(reply), let correlation = requests.received(reply)
      else { return }
      incidents.append(
        .request(
          from: envelope?.sender ?? 0, correlation: correlation, subject: message.subject,
          version: envelope?.version ?? 0, payload: message.payload))
    }

    /// Whether the relay waits for an answer there; it has sent the request on another connection.
    private func isOpen(_ reply: String) -> Bool {
      ownRequest(answeredAt: reply).map(requests.isOpen) == true
    }

    /// Where a request of the relay's own is answered.
    func answerSubject(_ correlation: UInt64) -> String { inbox + seal.sealed(String(correlation)) }

    /// The request of the relay's own that is answered at a subject.
    func ownRequest(answeredAt subject: String) -> UInt64? {
      if !subject.hasPrefix(inbox) { return nil }
      return seal.opened(subject.dropFirst(inbox.count)).flatMap { UInt64($0) }
    }

    mutating func receivedAnswer(_ message: ServerMessage) {
      guard message.subject.hasPrefix(inbox) else { return }
      let sealed = message.subject.dropFirst(inbox.count)
      if sealed == Self.presenceToken || sealed == Self.numbersToken {
        return receivedPresence(message)
      }
      guard let token = seal.opened(sealed) else { return }
      if let durable, token.first?.isLetter == true {
        return receivedAnswer(message, token, durable)
      }
      // A stream that stores the names of requests says so where an answer is expected.
      if message.headers.bytes.isEmpty, message.payload.first == UInt8(ascii: "{"),
        StreamResponse(message.payload)?.isAcknowledgment == true
      {
        return
      }
      guard let correlation = UInt64(token) else { return }
      if message.headers.status == 503, askItself(correlation) { return }
      guard requests.ended(correlation) else { return }
      if message.headers.status == 503 {
        incidents.append(.reply(correlation: correlation, .nobodyAnswers, payload: []))
      } else if let status = message.headers.status, status >= 400 {
        // The answer of the server itself, which is not a message (ADR 13).
        let text = "\(status) \(message.headers.statusText)"
        incidents.append(.reply(correlation: correlation, .failed, payload: Array(text.utf8)))
      } else if let error = message.headers.text(of: "Nats-Service-Error") {
        let payload = message.payload.isEmpty ? Array(error.utf8) : message.payload
        incidents.append(.reply(correlation: correlation, .failed, payload: payload))
      } else {
        incidents.append(.reply(correlation: correlation, .answered, payload: message.payload))
      }
    }

    /// Whether the relay answers requests of a subject, too.
    func answersItself(_ subject: String) -> Bool {
      subscriptions.values.contains { $0.answers && $0.pattern.matches(subject) }
    }

    /// Answers a request that has no other answerer: a server does not send it back to its relay.
    ///
    /// - Returns: Whether the relay answers the request itself.
    private mutating func askItself(_ correlation: UInt64) -> Bool {
      guard let (own, payload) = requests.takeOwn(correlation), answersItself(own.subject),
        let number = requests.received(answerSubject(correlation))
      else { return false }
      incidents.append(
        .request(
          from: id, correlation: number, subject: own.subject, version: own.version,
          payload: payload))
      return true
    }

    /// The server doesn't permit something.
    mutating func denied(_ denial: ConnectionState.Denial) {
      switch denial.subject {
      case NATSSubject.presence, inbox + "*":
        // Without it no peer is known; without answers requests time out. So it is tried again.
        reportOnce(denial, denial.subject)
      case let subject:
        if denial.kind == .subscribing {
          // Final: the server has no such subscription.
          for (sid, subscription) in subscriptions where subscription.pattern.text == subject {
            denied[sid] = subscriptions.removeValue(forKey: sid)
          }
        }
        guard denial.kind == .publishing, let subject else {
          return incidents.append(.denied(subject: subject, denial.text))
        }
        if let request = durable?.options.request(at: subject) {
          // It is made again after some seconds, maybe for another consumer.
          reportOnce(denial, request)
        } else if durable != nil, subject.hasPrefix("$JS.ACK.") {
          // Each message is sent again, and is acknowledged again.
          return reportOnce(denial, "$JS.ACK")
        } else {
          incidents.append(.denied(subject: subject, denial.text))
        }
        let denied = requests.open(to: subject)
        // Some may not have been sent yet.
        if !denied.isEmpty { outbox.forget(Set(denied)) }
        for correlation in denied where requests.ended(correlation) {
          incidents.append(
            .reply(correlation: correlation, .failed, payload: Array(denial.text.utf8)))
        }
        // Such a post is never acknowledged; others of the name will not be, either.
        if durable != nil { refuse(subject) }
      }
    }

    /// - Parameter use: The use of the subject that the relay tries again.
    mutating func reportOnce(_ denial: ConnectionState.Denial, _ use: String?) {
      if reportedDenials[use, default: []].insert(denial.kind).inserted {
        incidents.append(.denied(subject: denial.subject, denial.text))
      }
    }

    static func answerHeaders(failure: [UInt8]?) -> [UInt8] {
      let fields = failure.map {
        "Nats-Service-Error: \(line($0))\r\nNats-Service-Error-Code: 500\r\n"
      }
      return Array("NATS/1.0\r\n\(fields ?? "")\r\n".utf8)
    }

    /// Text for a header, which ends at a line break, and has only ASCII by the rules of NATS (ADR 4).
    ///
    /// A relay reads the whole text in the payload.
    private static func line(_ text: [UInt8]) -> String {
      String(decoding: text, as: UTF8.self).unicodeScalars.prefix(512).reduce(into: "") {
        $0.unicodeScalars.append($1.value < 0x20 ? " " : $1.value < 0x7F ? $1 : "?")
      }
    }

    // MARK: Presence

    static let presenceToken = "here"
    /// Asks for the last numbers as well: after a connection has ended, messages may be missing.
    static let numbersToken = "again"
    /// The last numbers are sent to so many relays in a second, and so many numbers to each.
    private static let (numberAnswersLimit, numbersLimit) = (64, 1_000)

    /// Names the sender of the next message, unless the relay knows it as a peer.
    ///
    /// It may have left, so it does not become a peer.
    mutating func nameSender(_ envelope: Envelope) {
      if envelope.sender == namedSender { return }
      namedSender = envelope.sender
      if !hasNewPeers, presence.has(envelope.sender) { return }
      let name = Presence.isName(envelope.name) ? envelope.name : ""
      incidents.append(
        .sender(RelayPeer(id: envelope.sender, name: name, processID: 0, isHub: false)))
    }

    /// Takes the reports for the relay.
    mutating func takeIncidents() -> [RelayIncident] {
      if hasNewPeers { incidents.append(.peers(presence.list)) }
      if hasNewPeers { (hasNewPeers, namedSender) = (false, nil) }
      var taken: [RelayIncident] = []
      swap(&taken, &incidents)
      return taken
    }

    mutating func receivedPresence(_ message: ServerMessage) {
      var lines = message.payload.split(separator: UInt8(ascii: "\n"))[...]
      guard let line = lines.popFirst().flatMap({ Presence.Line($0) }), line.id != id else {
        return
      }
      // Reported once for all lines in a row.
      if presence.heard(line) { hasNewPeers = true }
      takeNumbers(lines, of: line.id)
      // The relay publishes under no other name at the request of a client.
      let tokens = [Self.presenceToken, Self.numbersToken]
      guard let reply = message.reply, NATSSubject.isName(reply),
        let token = tokens.first(where: { reply.hasSuffix("." + $0) })
      else { return }
      // The other relay has connected: what it had sent before may be missing here.
      let asks = message.sid == Self.presenceSid && heard.knows(line.id)
      announce(to: reply, asking: asks ? Self.numbersToken : nil)
      if token == Self.numbersToken { announceNumbers(to: reply) }
    }

    private func presenceLine(seconds: Int) -> String {
      Presence.Line(id: id, processID: processID, seconds: seconds, name: name).text
    }

    /// Announces that this relay is present, or that it leaves.
    ///
    /// - Parameter token: What others are to answer, if anything.
    mutating func announce(
      to subject: String = NATSSubject.presence, asking token: String? = nil, leaves: Bool = false
    ) {
      output.writePublish(
        subject, reply: token.map { inbox + $0 },
        payload: Array(presenceLine(seconds: leaves ? 0 : presence.interval).utf8))
    }

    /// Sends the last numbers to a relay that may have missed the last messages.
    ///
    /// They follow the messages that have these numbers. A stream misses none.
    private mutating func announceNumbers(to subject: String) {
      let (numbers, since) = (outbox.numbers.all, outbox.numbers.since)
      guard durable == nil, !numbers.isEmpty, numberAnswers < Self.numberAnswersLimit else {
        return
      }
      numberAnswers += 1
      let lines = numbers.prefix(Self.numbersLimit).map { "\n\($0.value) \(since) \($0.key)" }
      append(
        .reply, to: subject, [],
        Array((presenceLine(seconds: presence.interval) + lines.joined()).utf8))
    }

    /// Takes the last numbers of a sender: a number, the first number, and the subject in each line.
    private mutating func takeNumbers(
      _ lines: ArraySlice<ArraySlice<UInt8>>, of sender: UInt64
    ) {
      for line in lines {
        let words = String(decoding: line, as: UTF8.self).split(separator: " ")
        guard words.count == 3, let number = UInt64(words[0]), let since = UInt64(words[1])
        else { continue }
        let subject = String(words[2])
        let lost = heard.hasSent(number, since: since, from: sender, subject)
        if lost > 0 { incidents.addLoss(sender: sender, subject, lost, Self.lossReason) }
      }
    }

    /// One second has passed.
    mutating func tick(isReading: Bool) {
      numberAnswers = 0
      // A stream whose answers are not read is not silent.
      if isReading { tickDurable() }
      tickDeliveries()
      guard server != nil else { return }
      let (hasChanged, announces) = presence.tick(isReading: isReading)
      if hasChanged { hasNewPeers = true }
      if announces { announce() }
    }

    /// The relay ends.
    mutating func leave() {
      guard server != nil else { return }
      durable?.deleteConsumer()
      writeStreamRequests()
      announce(leaves: true)
    }
  }
#endif
