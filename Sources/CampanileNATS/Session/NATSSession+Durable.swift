#if NATS
  import CampanileRelay
  import NIOCore

  extension NATSSession {
    // MARK: Subscriptions

    /// Whether a stream stores the subjects of a subscription.
    ///
    /// It gives to groups by a consumer for each group.
    func isStored(_ subscription: Subscription) -> Bool {
      durable != nil && !subscription.answers && subscription.group == nil
    }

    mutating func patternsChanged() {
      let patterns = Set(subscriptions.values.filter(isStored).map(\.pattern))
      noteReadiness { session in
        session.durable?.setPatterns(patterns.sorted { $0.text < $1.text })
      }
    }

    /// Changes the receivers from the stream, for the relay alone and for groups.
    mutating func changeReceivers(_ change: (inout DurableState) -> Void) {
      if durable != nil { change(&durable!) }
      for sid in shared.keys.sorted() { change(&shared[sid]!) }
    }

    /// Begins to receive the messages of the stream for a group.
    mutating func share(_ subscription: Subscription) {
      guard var options = durable?.options, let group = subscription.group else { return }
      options.consumer = DurableOptions.consumer(of: group, subscription.pattern)
      var receiver = DurableState(
        options, id: idText, sharing: subscription.pattern, number: subscription.sid)
      if let server { receiver.connected(server) }
      shared[subscription.sid] = receiver
    }

    /// Flushes wait until the receivers are ready: then the server is asked again.
    private mutating func noteReadiness(_ change: (inout Self) -> Void) {
      let wasReady = isReady
      change(&self)
      if durable != nil, !wasReady, isReady { wantsPing = true }
    }

    /// Handles a message of the stream, or the status of a pull, for the relay alone or for a group.
    mutating func receivedStored(_ message: ServerMessage) {
      let sid = message.sid
      let found =
        sid == Self.streamSid ? durable?.received(message) : shared[sid]?.received(message)
      guard let news = found else { return }
      let group = subscriptions[sid]?.group
      switch news {
      case .none: break
      case .refusal(let reason): incidents.append(.denied(subject: nil, reason))
      case .unwanted(let acknowledgment): acknowledge(acknowledgment, "+ACK")
      case .new(acknowledgment: nil): deliver(message, to: group)
      case .new(let acknowledgment?):
        // A relay that ends takes nothing more: it hears such a message in its next run.
        deliver(message, to: group) { [whenSettled] in whenSettled(acknowledgment, $0) }
      }
    }

    /// Delivers a message of the stream, or one that the relay received as one of a group.
    ///
    /// - Parameter settle: Called once it has been delivered, or with `false` if it is not.
    mutating func deliver(
      _ message: ServerMessage, to group: String?, _ settle: (@Sendable (Bool) -> Void)? = nil
    ) {
      let envelope = Envelope(message.headers)
      if let envelope {
        // The sender has delivered the message to its own observers.
        if envelope.isRequest || envelope.sender == id {
          settle?(group == nil)
          return
        }
        nameSender(envelope)
      }
      messageCount += 1
      let (sender, version, path) = (
        envelope?.sender ?? 0, envelope?.version ?? 0, envelope?.path ?? []
      )
      incidents.append(
        settle.map {
          .awaited(
            group: group, sender: sender, subject: message.subject, version: version, path: path,
            payload: message.payload, done: $0)
        }
          ?? .message(
            sender: sender, subject: message.subject, version: version, path: path,
            payload: message.payload))
    }

    /// Acknowledges a message, or has the stream send it to another of the group after a second.
    mutating func settle(_ subject: String, isTaken: Bool) {
      var isOpen = durable?.finished(subject, isTaken: isTaken) == true
      for sid in shared.keys where !isOpen {
        isOpen = shared[sid]!.finished(subject, isTaken: isTaken)
      }
      guard isOpen, server != nil else { return }
      acknowledge(subject, isTaken ? "+ACK" : #"-NAK {"delay":1000000000}"#)
    }

    /// Tells the stream what has become of a message.
    private mutating func acknowledge(_ subject: String, _ word: String) {
      output.writePublish(subject, payload: Array(word.utf8))
    }

    /// Tells the stream which messages are still being delivered, from time to time, so that it does
    /// not send them again meanwhile.
    mutating func tickDeliveries() {
      seconds &+= 1
      if server == nil || seconds % 3 != 0 { return }
      var open: [String] = []
      changeReceivers { open += $0.deliveries.open }
      for subject in open { acknowledge(subject, "+WPI") }
    }

    // MARK: What is asked

    mutating func writeStreamRequests() {
      if durable == nil { return }
      var requests: [StreamRequest] = []
      changeReceivers { receiver in
        requests += receiver.requests
        receiver.requests = []
      }
      for request in requests {
        // The server would end the connection, again and again.
        if let server, request.json.count > server.maxPayload {
          let text = "A request to JetStream has more bytes than the server takes."
          reportOnce(.init(kind: .publishing, subject: request.subject, text: text), "max_payload")
          continue
        }
        output.writePublish(
          request.subject, reply: inbox + seal.sealed(request.token), payload: request.json)
      }
    }

    /// An answer of JetStream.
    mutating func receivedAnswer(
      _ message: ServerMessage, _ token: Substring, _ durable: DurableState
    ) {
      if token.first == "a" { return receivedAcknowledgment(message, token.dropFirst()) }
      if token.first == "q" { return receivedStream(message, token.dropFirst()) }
      var reason: String?
      let number = DurableState.number(of: token)
      noteReadiness { session in
        reason =
          number == 0
          ? session.durable?.answered(token, message)
          : session.shared[number]?.answered(token, message)
      }
      if let reason { incidents.append(.denied(subject: nil, reason)) }
    }

    // MARK: What is stored

    /// Handles the stream's answer to a post: it has stored the post, or reports why not.
    private mutating func receivedAcknowledgment(_ message: ServerMessage, _ token: Substring) {
      guard let mark = UInt64(token), let stream = durable?.options.stream else { return }
      // The stream has no leader at present, or there is none: it is sent again after a second.
      if message.headers.status != nil {
        if outbox.subject(mark) == nil { return }
        readMark = max(readMark, mark)
        storing = storing ?? 0
        return sendAgain(mark, "No stream takes it.")
      }
      // A service that answers all messages of the name sends something else.
      var response: StreamResponse?
      if !message.payload.isPlainAcknowledgment(of: stream) {
        response = StreamResponse(message.payload)
        if response?.error == nil, response?.isAcknowledgment != true { return }
      }
      guard let subject = outbox.subject(mark) else { return }
      readMark = max(readMark, mark)
      // A post that was stored before is as good as one that is stored now.
      if let error = response?.error {
        // 10002: the account has no room. 10158: sent twice, and the first one is not stored yet;
        // whether it will be is not known.
        if !error.isAboutOneMessage, error.code >= 500 || [10_002, 10_158].contains(error.err_code)
        {
          return sendAgain(mark, "The stream does not store it: \(error.text).")
        }
        incidents.append(
          .refused(subject: subject, "The stream does not store it: \(error.text)."))
      } else if let other = response?.stream, other != stream {
        incidents.append(
          .refused(
            subject: subject,
            "The stream \"\(other)\" has the name among its subjects, and not \"\(stream)\"."))
      }
      let oldest = outbox.oldestPost
      report(flushed: outbox.stored(mark))
      // Later posts may be stored while the first one is not.
      if outbox.oldestPost != oldest { attemptIsOver() }
    }

    /// So many seconds may go by without anything being stored.
    private static let storingLimit = 4
    /// After so many attempts, an event reports that a message is not stored.
    private static let attemptLimit = 5

    /// Notes why a post was not stored; the oldest is sent again after a second, or later.
    private mutating func sendAgain(_ mark: UInt64, _ reason: String) {
      // Others may be refused meanwhile, which does not make the pause longer.
      storing = storing.map { max($0, Self.storingLimit - (vain?.pause ?? 1)) }
      if mark != outbox.oldestPost { return }
      storing = Self.storingLimit - (vain?.pause ?? 1)
      vain = vain ?? VainAttempts()
      vain?.reason = reason
    }

    /// Notes an attempt in vain, and asks which names the stream stores.
    private mutating func countAttempt() {
      guard let oldest = outbox.oldestPost, let subject = outbox.subject(oldest),
        let stream = durable?.options.stream
      else { return }
      var attempts = vain ?? VainAttempts()
      attempts.count += 1
      attempts.mayTry = true
      vain = attempts
      if attempts.count == Self.attemptLimit {
        incidents.append(.denied(subject: subject, attempts.reason))
      }
      if attempts.count == 1 { return }
      durable?.requests.append(
        StreamRequest("STREAM.INFO.\(stream)", token: "q\(oldest)", [String: Int]()))
    }

    /// Handles JetStream's answer to which names the stream stores.
    ///
    /// If that of a post is not among them, no attempt to store the post will have success.
    private mutating func receivedStream(_ message: ServerMessage, _ token: Substring) {
      guard let mark = UInt64(token), let durable, let subject = outbox.subject(mark),
        message.headers.status == nil, let response = StreamResponse(message.payload), vain != nil
      else { return }
      let stream = "The stream \"\(durable.options.stream)\""
      // 10059: there is no such stream, or there is none any more.
      if response.error?.err_code == 10_059 { self.durable?.streamMayBeMissing() }
      guard response.error == nil, let config = response.config else { return }
      if !config.stores(subject) {
        refuse(subject, "\(stream) has no such name among its subjects.")
      } else if let size = outbox.size(mark), config.neverHasRoom(for: size + subject.utf8.count) {
        let reason = "\(stream) never has room for it: it has \(size) bytes with its headers."
        incidents.append(.refused(subject: subject, reason))
        report(flushed: outbox.stored(mark))
        attemptIsOver()
      }
    }

    /// A stream never stores posts of this name.
    ///
    /// - Parameter reason: The reason to report for each, if none has been reported.
    mutating func refuse(_ subject: String, _ reason: String? = nil) {
      let (count, flushed) = outbox.refuse(subject)
      // The server may have denied something else than a post, like an acknowledgment.
      if count == 0 { return }
      if let reason {
        for _ in 0..<count { incidents.append(.refused(subject: subject, reason)) }
      }
      report(flushed: flushed)
      attemptIsOver()
    }

    /// Ends the attempts to store the oldest post, which is stored, or never will be.
    mutating func attemptIsOver() { (storing, vain) = (outbox.isAwaiting ? 0 : nil, nil) }

    mutating func tickDurable() {
      guard durable != nil, server != nil else { return }
      var reasons: [String?] = []
      noteReadiness { $0.changeReceivers { reasons.append($0.tick()) } }
      for reason in reasons.compactMap(\.self) {
        incidents.append(.denied(subject: nil, reason))
      }
      guard let seconds = storing else { return }
      storing = seconds + 1
      if seconds + 1 < Self.storingLimit - 1 { return }
      // Posts that the server has not read are not sent again: it may be slow, or stopped.
      if readMark < outbox.oldestPost ?? 0 {
        if pingCount == 0 { wantsPing = true }
        storing = min(seconds + 1, Self.storingLimit - 1)
      } else if seconds + 1 >= Self.storingLimit {
        storing = nil
        countAttempt()
        outbox.rewind()
      }
    }
  }

  /// Attempts to store the oldest post, in a row.
  struct VainAttempts {
    var count = 0
    /// Whether it is time for the next one.
    var mayTry = false
    /// How many seconds there are until then: more from attempt to attempt, after the first few.
    var pause: Int { count < 5 ? 1 : min(30, 1 << min(count - 4, 5)) }
    var reason = "JetStream doesn't answer, or the stream acknowledges nothing (no_ack)."
  }

  extension [UInt8] {
    /// Whether it begins as the server's answer to a stored message does, without the text "error".
    ///
    /// Decoding an answer takes longer than storing a message.
    fileprivate func isPlainAcknowledgment(of stream: String) -> Bool {
      let start = #"{"stream":""#.utf8
      guard starts(with: start), dropFirst(start.count).starts(with: stream.utf8),
        dropFirst(start.count + stream.utf8.count).first == UInt8(ascii: "\"")
      else { return false }
      var word = 0
      return !contains { byte in
        word = (word << 8 | Int(byte)) & 0xFF_FFFF_FFFF
        return word == 0x65_7272_6F72
      }
    }
  }
#endif
