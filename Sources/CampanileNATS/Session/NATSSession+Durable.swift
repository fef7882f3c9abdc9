#if NATS
  import CampanileRelay
  import NIOCore

  extension NATSSession {
    // MARK: What is heard

    /// Whether a stream has what a subscription is about.
    func isStored(_ subscription: Subscription) -> Bool {
      durable != nil && !subscription.answers
    }

    mutating func patternsChanged() {
      let patterns = subscriptions.values.filter { !$0.answers }.map(\.pattern.text)
      durable?.setPatterns(patterns.sorted())
    }

    /// Handles a message of the stream, or the status of a pull.
    mutating func receivedStored(_ message: ServerMessage) {
      guard let news = durable?.received(message) else { return }
      switch news {
      case .none: break
      case .double(let acknowledgment): acknowledgments.append(acknowledgment)
      case .new(let acknowledgment):
        if let acknowledgment { acknowledgments.append(acknowledgment) }
        // The server's filter may be wider.
        let isWanted = subscriptions.values.contains {
          !$0.answers && $0.pattern.matches(message.subject)
        }
        if isWanted { deliverStored(message) }
      }
    }

    private mutating func deliverStored(_ message: ServerMessage) {
      let envelope = Envelope(message.headers)
      if let envelope {
        if envelope.isRequest || envelope.sender == id { return }
        know(envelope)
      }
      incidents.append(
        .message(
          sender: envelope?.sender ?? 0, subject: message.subject,
          version: envelope?.version ?? 0, path: envelope?.path ?? [], payload: message.payload))
    }

    /// Messages have been delivered to all who observe them.
    mutating func acknowledge(_ subjects: [String]) {
      guard server != nil else { return }
      for subject in subjects {
        output.writePublish(subject, payload: Array("+ACK".utf8))
      }
    }

    // MARK: What is asked

    mutating func writeStreamRequests() {
      guard let requests = durable?.requests, !requests.isEmpty else { return }
      for request in requests {
        output.writePublish(
          request.subject, reply: inbox + request.token,
          payload: request.json)
      }
      durable?.requests = []
    }

    /// An answer of JetStream.
    mutating func receivedAnswer(
      _ message: ServerMessage, _ token: Substring, _ durable: DurableState
    ) {
      if token.first == "a" { return receivedAcknowledgment(message, token.dropFirst()) }
      let wasReady = durable.isReady
      if let reason = self.durable?.answered(token, message) {
        incidents.append(.denied(subject: nil, reason))
      }
      if !wasReady, self.durable?.isReady == true { wantsPing = true }
    }

    // MARK: What is stored

    /// Handles the stream's answer to a post: it has stored the post, or reports why not.
    private mutating func receivedAcknowledgment(_ message: ServerMessage, _ token: Substring) {
      guard let mark = UInt64(token), let post = outbox.post(mark) else { return }
      // Nobody leads the stream, at present, or there is none: it is sent again after a second.
      if message.headers.status != nil { return storing = Self.storingLimit - 1 }
      // A post that was stored before is as good as one that is stored now.
      if message.payload.mayHaveError, let error = StreamResponse(message.payload)?.error {
        // Sent twice, and the first one is not stored yet: whether it will be is not known.
        if error.code >= 500 || error.err_code == 10_158 {
          return storing = Self.storingLimit - 1
        }
        incidents.append(
          .refused(
            subject: post.subject,
            "The stream does not store it: \(error.description ?? "error \(error.code)")."))
      }
      let first = outbox.firstMark
      for token in outbox.stored(mark) { incidents.append(.flushed(token)) }
      // Later posts may be stored while the first one is not.
      if outbox.firstMark != first { storing = outbox.isAwaiting ? 0 : nil }
    }

    /// So many seconds may go by without anything being stored.
    private static let storingLimit = 4

    mutating func tickDurable() {
      guard durable != nil, server != nil else { return }
      let wasReady = durable?.isReady == true
      durable?.tick()
      if !wasReady, durable?.isReady == true { wantsPing = true }
      guard let seconds = storing else { return }
      storing = seconds + 1
      if seconds + 1 >= Self.storingLimit {
        storing = nil
        outbox.rewind()
      }
    }
  }

  extension [UInt8] {
    /// Whether the text "error" is in it: reading a whole answer takes longer than storing a message.
    fileprivate var mayHaveError: Bool {
      var word = 0
      return contains { byte in
        word = (word << 8 | Int(byte)) & 0xFF_FFFF_FFFF
        return word == 0x65_7272_6F72
      }
    }
  }
#endif
