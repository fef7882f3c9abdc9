#if NATS
  import CampanileRelay
  import NIOCore

  /// The session of one relay on NATS, without connections and without a clock.
  ///
  /// It outlives connections. It writes the bytes for the present connection to ``output``, and
  /// adds reports for the relay to ``incidents``. The caller takes both.
  struct NATSSession {
    struct Subscription {
      var sid: UInt64
      var pattern: SubjectPattern
      /// Whether it is for requests.
      var answers: Bool
      /// The group that shares the messages; all relays that answer share the requests.
      var group: String?
      /// The number of the ping whose answer follows the last request, once the relay has stopped
      /// answering.
      var lastPing: UInt64?
    }

    let id: UInt64
    let name: String
    let processID: Int32
    /// The number and the name, as they are written.
    let idText: String
    let nameText: String
    /// Where answers to this relay are sent: sealed tokens after this.
    let inbox: String
    let seal = ReplySeal()
    /// The prefix of the subjects of all answers.
    let inboxPrefix: String

    var output = ByteBuffer()
    var incidents: [RelayIncident] = []
    /// How many of the incidents are messages.
    var messageCount = 0
    /// How many posts were written; the link sets it to zero too.
    var sentCount = 0
    var outbox: Outbox
    /// Whether there is a connection, and what its server takes.
    var server: ServerInfo?
    var hasConnected = false
    /// Whether the relay takes nothing more for the groups that it is one of.
    var hasEndedHearing = false
    var subscriptions: [UInt64: Subscription] = [:] { didSet { meaning = nil } }
    /// Subscriptions for requests that have ended: requests may have arrived at the relay before the
    /// server knew.
    var ending: [UInt64: Subscription] = [:] { didSet { meaning = nil } }
    /// Subscriptions that a server has denied.
    var denied: [UInt64: Subscription] = [:]
    /// Whether they are asked for again on the next connection.
    var asksForDenied = false
    /// The meaning of the last message, which the next one often shares.
    var meaning: Meaning?
    var lastSid: UInt64 = Self.firstSid
    var heard = HeardNumbers()
    var requests = RequestTable()
    var presence = Presence()
    /// To how many relays the last numbers have been sent in this second.
    var numberAnswers = 0
    /// Whether a change of the peers is to be reported to the relay.
    var hasNewPeers = false
    /// The denials that were reported, of repeated requests: subjects, and kinds of use.
    var reportedDenials: [String?: Set<ConnectionState.Denial.Kind>] = [:]
    /// The state of the stream that stores the messages, if there is one.
    var durable: DurableState?
    /// The state of each of this relay's groups on the stream, by the number of its subscription.
    var shared: [UInt64: DurableState] = [:]
    /// Called with each message of the stream to acknowledge, or to give back, when it has been
    /// delivered.
    var whenSettled: @Sendable (_ acknowledgment: String, _ isTaken: Bool) -> Void = { _, _ in }
    /// Counts seconds.
    var seconds = 0
    /// The sender of the last message.
    var namedSender: UInt64?
    /// For how many seconds what was sent has not been stored, if anything was.
    var storing: Int?
    /// Attempts to store the oldest post that have failed, if any have: only that one is sent then.
    var vain: VainAttempts?
    /// The mark through which the server has read what was sent.
    var readMark: UInt64 = 0
    /// The flushes that also wait until the requested subscriptions are in force.
    var flushesOfPatterns: Set<UInt64> = []
    /// Those of them that wait for nothing else.
    var heldFlushes: [UInt64] = []
    /// How many pings that confirm what was sent were written on the present connection, and how many
    /// of them have an answer.
    var (pingNumber, answeredPings) = (UInt64(0), UInt64(0))
    /// How many of them have no answer yet.
    var pingCount: UInt64 { pingNumber - answeredPings }
    /// Whether a ping is to follow the output.
    var wantsPing = false
    var bytesSincePing = 0
    /// After so many bytes a ping follows, so that the server confirms while more is sent.
    static let pingInterval = 256 << 10
    /// Whether the stream is to be asked for other messages.
    var hasNewPatterns = false
    /// The bytes that are written at once, about.
    static let outputSize = 192 << 10

    // The subscriptions of each relay: answers to it, and the presence of others.
    static let inboxSid: UInt64 = 1
    static let presenceSid: UInt64 = 2
    static let streamSid: UInt64 = 3
    static let firstSid: UInt64 = 9
    /// The group of all relays that answer requests: one of them answers each.
    static let answerers = "_campanile"

    init(
      id: UInt64, name: String, processID: Int32, inboxPrefix: String = "_INBOX",
      limit: Int = 8 << 20, durable: DurableOptions? = nil
    ) {
      (self.id, self.name, self.processID) = (id, name, processID)
      idText = String(id, radix: 16)
      nameText = SubjectName.escaped(name)
      self.inboxPrefix = inboxPrefix + "."
      inbox = "\(inboxPrefix).\(String(UInt64.random(in: .min ... .max), radix: 36))."
      outbox = Outbox(
        PostHead.Sender(
          id: idText, name: nameText, acknowledgments: inbox + "a", seal: seal,
          isStored: durable != nil),
        limit: limit)
      self.durable = durable.map { DurableState($0, id: idText) }
    }

    // MARK: What the relay wants

    mutating func perform(_ operations: [RelayOperation]) {
      for operation in operations { performOne(operation) }
      // Once for all of them, because each change is compared with all subscriptions.
      if hasNewPatterns { patternsChanged() }
      hasNewPatterns = false
    }

    mutating func performOne(_ operation: RelayOperation) {
      switch operation {
      case .subscribe(let pattern, let group): subscribe(pattern, answers: false, group)
      case .answer(let pattern): subscribe(pattern, answers: true, Self.answerers)
      case .unsubscribe(let pattern, let group): unsubscribe(pattern, answers: false, group)
      case .stopAnswering(let pattern): unsubscribe(pattern, answers: true, Self.answerers)
      case .posts(let posts): append(posts)
      case .request(let correlation, let subject, let version, let payload, _):
        if let reason = Self.objection(to: subject) {
          return incidents.append(
            .reply(correlation: correlation, .refused, payload: Array(reason.utf8)))
        }
        let own = answersItself(subject) ? payload : nil
        requests.ask(correlation, .init(subject: subject, version: version, own: own))
        let fields = "\(idText) 0 0 \(version) \(nameText) -"
        let headers = Array("NATS/1.0\r\n\(Envelope.field): \(fields)\r\n\r\n".utf8)
        append(
          .request, correlation: correlation, to: subject, reply: answerSubject(correlation),
          headers, payload)
      case .forget(let tokens):
        for token in tokens { _ = requests.ended(token) }
        outbox.forget(tokens)
        flushesOfPatterns.subtract(tokens)
        heldFlushes.removeAll { tokens.contains($0) }
      case .reply(_, let correlation, let status, let payload):
        guard let subject = requests.answered(correlation) else { return }
        if let own = ownRequest(answeredAt: subject) {
          if requests.ended(own) {
            incidents.append(.reply(correlation: own, status, payload: payload))
          }
          return
        }
        if status == .nobodyAnswers {
          return append(.reply, to: subject, Array("NATS/1.0 503\r\n\r\n".utf8), [])
        }
        append(
          .reply, to: subject, Self.answerHeaders(failure: status != .answered ? payload : nil),
          payload)
      case .flush(let token):
        flushesOfPatterns.insert(token)
        outbox.appendFlush(token)
      case .flushPosts(let token): outbox.appendFlush(token)
      case .endHearing:
        hasEndedHearing = true
        changeReceivers { $0.hasEndedHearing = true }
        if server == nil { return }
        if durable != nil { output.writeUnsubscribe(sid: Self.streamSid) }
        for subscription in subscriptions.values
        where subscription.group != nil && !subscription.answers {
          output.writeUnsubscribe(sid: subscription.sid)
        }
      }
    }

    mutating func append(_ posts: RelayPosts) {
      var posts = posts
      if !posts.headings.allSatisfy({ NATSSubject.isName($0.subject) }) { refuseNames(of: &posts) }
      if posts.isEmpty { return }
      outbox.append(posts) { subject in
        incidents.addLoss(
          sender: id, subject, 1,
          "More was posted than the relay's buffer holds until it is sent.")
      }
    }

    /// Takes the posts out whose names a server doesn't take.
    private mutating func refuseNames(of posts: inout RelayPosts) {
      var valid = RelayPosts()
      while let post = posts.popFirst() {
        let heading = posts.headings[post.heading]
        if let reason = Self.objection(to: heading.subject) {
          incidents.append(.refused(subject: heading.subject, reason))
        } else {
          valid.append(heading, posts.bytes[post.payload])
        }
      }
      posts = valid
    }

    mutating func append(
      _ kind: Outbox.Kind, correlation: UInt64 = 0, to subject: String, reply: String? = nil,
      _ headers: [UInt8], _ payload: [UInt8]
    ) {
      let size = headers.count + payload.count
      // It does not wait for posts that no stream takes.
      if vain != nil || durable?.isStreamUnknown == true, let server, size <= server.maxPayload {
        output.writePublish(subject, reply: reply, headers: headers, payload: payload)
        return requests.wasSent(correlation)
      }
      var head: [UInt8] = []
      head.appendPublishHead(subject, reply: reply, headers: headers, count: payload.count)
      outbox.append(kind, correlation: correlation, head: head, payload: payload, size: size)
    }

    private static func objection(to subject: String) -> String? {
      NATSSubject.isName(subject)
        ? nil
        : "NATS takes names of \(NATSSubject.limit) bytes at the most, tokens with dots between "
          + "them, without spaces and without the signs * and >."
    }

    mutating func subscribe(_ pattern: String, answers: Bool, _ group: String?) {
      guard pattern.utf8.count <= NATSSubject.limit,
        let known = try? SubjectPattern(validating: pattern)
      else {
        return incidents.append(.denied(subject: pattern, "NATS takes no such pattern of names."))
      }
      lastSid += 1
      let new = Subscription(sid: lastSid, pattern: known, answers: answers, group: group)
      subscriptions[lastSid] = new
      if isStored(new) { return hasNewPatterns = true }
      if durable != nil, !answers { share(new) }
      if server != nil { write(new, to: &output) }
    }

    mutating func unsubscribe(_ pattern: String, answers: Bool, _ group: String?) {
      func isMeant(_ subscription: Subscription) -> Bool {
        (subscription.pattern.text, subscription.answers, subscription.group)
          == (pattern, answers, group)
      }
      denied = denied.filter { !isMeant($0.value) }
      guard let found = subscriptions.values.first(where: isMeant) else { return }
      subscriptions[found.sid] = nil
      if isStored(found) { return hasNewPatterns = true }
      if server != nil { output.writeUnsubscribe(sid: found.sid) }
      if answers { return endAnswering(found) }
      // The server sends the unacknowledged messages to another relay of the group in time.
      shared[found.sid] = nil
      if group != nil { return }
      let others = subscriptions.values.filter { !$0.answers && $0.group == nil }.map(\.pattern)
      heard.forget { subject in
        found.pattern.matches(subject) && !others.contains { $0.matches(subject) }
      }
    }

    /// Takes requests of a subscription until the server confirms that it has ended.
    mutating func endAnswering(_ subscription: Subscription) {
      if server == nil { return }
      var ended = subscription
      ended.lastPing = pingNumber + 1
      ending[ended.sid] = ended
      wantsPing = true
    }
  }
#endif
