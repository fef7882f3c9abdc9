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
    private(set) var server: ServerInfo?
    private var hasConnected = false
    /// Whether the relay takes nothing more for the groups that it is one of.
    private var hasEndedHearing = false
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
    private var lastSid: UInt64 = Self.firstSid
    var heard = HeardNumbers()
    var requests = RequestTable()
    var presence = Presence()
    /// To how many relays the last numbers have been sent in this second.
    var numberAnswers = 0
    /// Whether a change of the peers is to be reported to the relay.
    var hasNewPeers = false
    /// How many peers are in all lists among the incidents.
    var listedPeers = 0
    /// The denials that were reported, of repeated requests: subjects, and kinds of use.
    var reportedDenials: [String?: Set<ConnectionState.Denial.Kind>] = [:]
    /// The state of the stream that stores the messages, if there is one.
    var durable: DurableState?
    /// The state of each of this relay's groups on the stream, by the number of its subscription.
    var shared: [UInt64: DurableState] = [:]
    /// Called with each message of the stream to acknowledge, or to give back, when it has been
    /// delivered, or is not wanted.
    var whenSettled: @Sendable (_ acknowledgment: String, _ isTaken: Bool) -> Void = { _, _ in }
    /// The sender of the last message of the stream.
    var storedSender: UInt64?
    /// For how many seconds what was sent has not been stored, if anything was.
    var storing: Int?
    /// Attempts to store the oldest post that have failed, if any have: only that one is sent then.
    var vain: VainAttempts?
    /// The mark through which the server has read what was sent.
    var readMark: UInt64 = 0
    /// The flushes that also wait until the requested subscriptions are in force.
    private var flushesOfPatterns: Set<UInt64> = []
    /// Those of them that wait for nothing else.
    private var heldFlushes: [UInt64] = []
    /// How many pings that confirm what was sent were written on the present connection, and how many
    /// of them have an answer.
    private(set) var (pingNumber, answeredPings) = (UInt64(0), UInt64(0))
    /// How many of them have no answer yet.
    var pingCount: UInt64 { pingNumber - answeredPings }
    /// Whether a ping is to follow the output.
    var wantsPing = false
    private var bytesSincePing = 0
    /// After so many bytes a ping follows, so that the server confirms while more is sent.
    private static let pingInterval = 256 << 10
    /// Whether the stream is to be asked for other messages.
    private var hasNewPatterns = false
    /// The bytes that are written at once, about.
    private static let outputSize = 192 << 10

    // The subscriptions of each relay: answers to it, and the presence of others.
    static let inboxSid: UInt64 = 1
    static let presenceSid: UInt64 = 2
    static let streamSid: UInt64 = 3
    static let firstSid: UInt64 = 9
    /// The group of all relays that answer requests: one of them answers each.
    private static let answerers = "_campanile"

    init(
      id: UInt64, name: String, processID: Int32, inboxPrefix: String = "_INBOX",
      keepsNewest: Bool = true, limit: Int = 8 << 20, durable: DurableOptions? = nil
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
        keepsNewest: keepsNewest, limit: limit)
      self.durable = durable.map { DurableState($0, id: idText) }
    }

    // MARK: What the relay wants

    mutating func perform(_ operation: RelayOperation) { perform([operation]) }

    mutating func perform(_ operations: [RelayOperation]) {
      for operation in operations { performOne(operation) }
      // Once for all of them, because each change is compared with all subscriptions.
      if hasNewPatterns { patternsChanged() }
      hasNewPatterns = false
    }

    private mutating func performOne(_ operation: RelayOperation) {
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
        let isOwn = answersItself(subject)
        requests.ask(
          correlation, subject,
          own: isOwn ? .init(subject: subject, version: version, payload: payload) : nil)
        var headers: [UInt8] = []
        headers.appendHeaderStart()
        headers.appendEnvelope(
          sender: idText, number: 0, since: 0, version: version, name: nameText, path: [])
        headers.appendHeaderEnd()
        append(
          .request, correlation: correlation, to: subject, reply: answerSubject(correlation),
          headers, payload)
      case .forget(let tokens):
        let open = tokens.filter { requests.ended($0) }
        if !open.isEmpty { outbox.forget(requests: open) }
        outbox.forget(flushes: tokens)
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
        changeReceivers { $0.endHearing() }
        if server == nil { return }
        if durable != nil { output.writeUnsubscribe(sid: Self.streamSid) }
        for subscription in subscriptions.values
        where subscription.group != nil && !subscription.answers {
          output.writeUnsubscribe(sid: subscription.sid)
        }
      }
    }

    private mutating func append(_ posts: RelayPosts) {
      if posts.headings.allSatisfy({ NATSSubject.isName($0.subject) }) {
        return keep(posts)
      }
      var (posts, valid) = (posts, RelayPosts())
      while let post = posts.popFirst() {
        let heading = posts.headings[post.heading]
        if let reason = Self.objection(to: heading.subject) {
          incidents.append(.refused(subject: heading.subject, reason))
        } else {
          valid.append(heading, posts.bytes[post.payload])
        }
      }
      keep(valid)
    }

    private mutating func keep(_ posts: RelayPosts) {
      outbox.append(posts) { subject in
        incidents.addLoss(
          sender: id, subject, 1,
          "More was posted than the relay's buffer holds until it is sent.")
      }
    }

    mutating func append(
      _ kind: Outbox.Kind, correlation: UInt64 = 0, to subject: String, reply: String? = nil,
      _ headers: [UInt8], _ payload: [UInt8]
    ) {
      var head: [UInt8] = []
      head.appendPublishHead(subject, reply: reply, headers: headers, count: payload.count)
      let size = headers.count + payload.count
      // It does not wait for posts that no stream takes.
      if vain != nil || durable?.isStreamUnknown == true, let server, size <= server.maxPayload {
        output.writeBytes(head)
        output.writeBytes(payload)
        output.writeStaticString("\r\n")
        return
      }
      outbox.append(kind, correlation: correlation, head: head, payload: payload, size: size)
    }

    private static func objection(to subject: String) -> String? {
      NATSSubject.isName(subject)
        ? nil
        : "NATS takes names of \(NATSSubject.limit) bytes at the most, tokens with dots between "
          + "them, without spaces and without the signs * and >."
    }

    private mutating func subscribe(_ pattern: String, answers: Bool, _ group: String?) {
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

    private mutating func unsubscribe(_ pattern: String, answers: Bool, _ group: String?) {
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
    private mutating func endAnswering(_ subscription: Subscription) {
      if server == nil { return }
      var ended = subscription
      ended.lastPing = pingNumber + 1
      ending[ended.sid] = ended
      wantsPing = true
    }

    // MARK: Connections

    /// All subscriptions, for a new connection.
    ///
    /// - Parameter isNext: Whether it is to take the place of the present one. It does not receive
    ///   the pulls of the present one, which end with that.
    func writeSubscriptions(to output: inout ByteBuffer, isNext: Bool = false) {
      output.writeSubscribe(inbox + "*", sid: Self.inboxSid)
      output.writeSubscribe(NATSSubject.presence, sid: Self.presenceSid)
      if let durable { writePullInbox(of: durable, Self.streamSid, isNext: isNext, to: &output) }
      for subscription in subscriptions.values.sorted(by: { $0.sid < $1.sid })
      where !isStored(subscription) {
        write(subscription, isNext: isNext, to: &output)
      }
    }

    private func write(
      _ subscription: Subscription, isNext: Bool = false, to output: inout ByteBuffer
    ) {
      if hasEndedHearing, subscription.group != nil, !subscription.answers { return }
      if let receiver = shared[subscription.sid] {
        writePullInbox(of: receiver, subscription.sid, isNext: isNext, to: &output)
      } else {
        output.writeSubscribe(
          subscription.pattern.text, group: subscription.group, sid: subscription.sid)
      }
    }

    private func writePullInbox(
      of receiver: DurableState, _ sid: UInt64, isNext: Bool, to output: inout ByteBuffer
    ) {
      let pullInbox = isNext ? receiver.nextPullInbox : receiver.pullInbox
      output.writeSubscribe(inbox + seal.sealed(pullInbox) + ".*", sid: sid)
    }

    /// A connection is there.
    ///
    /// - Parameter isSubscribed: Whether it takes the place of one that was there until now.
    mutating func connected(_ info: ServerInfo, isSubscribed: Bool = false) {
      server = info
      output.clear()
      (pingNumber, answeredPings) = (0, 0)
      // Nothing else may be sent whose confirmation ends them.
      wantsPing = !heldFlushes.isEmpty
      changeReceivers { $0.connected(info) }
      if isSubscribed { return announce(asking: Self.numbersToken) }
      if asksForDenied {
        subscriptions.merge(denied) { $1 }
        (denied, asksForDenied) = ([:], false)
      }
      writeSubscriptions(to: &output)
      announce(asking: hasConnected ? Self.numbersToken : Self.presenceToken)
      hasConnected = true
      incidents.append(.connected)
    }

    /// The server has changed what it takes.
    mutating func updated(_ info: ServerInfo) { if server != nil { server = info } }

    /// - Parameter isRepeated: Whether connections have ended as soon as they were open, one after
    ///   another.
    mutating func disconnected(_ reason: String, isRepeated: Bool = false) {
      guard server != nil else { return incidents.append(.disconnected(reason)) }
      server = nil
      let sent = endConnection()
      // Also those that the server had taken, which it may not have sent to a relay.
      let waiting = outbox.waitingRequests
      endRequests(sent + requests.open.filter { !waiting.contains($0) })
      hasNewPeers = false
      presence.disconnect()
      incidents += [.peers([]), .disconnected(reason, isInterruption: !isRepeated)]
    }

    /// Handles the end of a connection that another one takes the place of: what was sent on it is sent
    /// again, or has failed.
    mutating func lost() { endRequests(endConnection()) }

    /// - Returns: The requests that were sent, and that the server may not have.
    private mutating func endConnection() -> [UInt64] {
      output.clear()
      changeReceivers { $0.disconnected() }
      (pingNumber, answeredPings, ending) = (0, 0, [:])
      (wantsPing, storing, vain, readMark) = (false, nil, nil, 0)
      return outbox.disconnect()
    }

    private mutating func endRequests(_ correlations: [UInt64]) {
      for correlation in correlations.sorted() where requests.ended(correlation) {
        incidents.append(.reply(correlation: correlation, .disconnected, payload: []))
      }
    }

    // MARK: Sending

    /// Writes what waits, as far as the window allows, and pings.
    ///
    /// - Returns: The mark up to which each ping confirms, and whether there is more to write.
    mutating func write() -> (pings: [UInt64], goesOn: Bool) {
      guard let server else { return ([], false) }
      var (pings, written): ([UInt64], Int) = ([], 0)
      while let item = nextItem() {
        written += item.length
        if item.size > server.maxPayload {
          refuseLast(item, server)
        } else if item.kind != .flush {
          outbox.write(item, to: &output)
          bytesSincePing += Int(item.size)
          if item.kind == .post {
            sentCount += 1
            if durable != nil, storing == nil { storing = 0 }
          }
        }
        // Stored posts are confirmed one by one.
        switch item.kind {
        case .post: break
        case .flush: wantsPing = true
        case .request, .reply: if durable != nil { wantsPing = true }
        }
        if durable == nil, bytesSincePing > Self.pingInterval { pings.append(writePing()) }
        if written >= Self.outputSize { break }
      }
      outbox.endRun(to: &output)
      // Posts before a flush may have been dropped.
      report(flushed: outbox.popConfirmed())
      writeStreamRequests()
      if wantsPing || durable == nil && outbox.isAwaiting && pingCount == 0 {
        pings.append(writePing())
      }
      return (pings, written >= Self.outputSize)
    }

    /// The next item to write: of posts that no stream takes, only the oldest, from time to time.
    private mutating func nextItem() -> Outbox.Item? {
      if durable?.isStreamUnknown == true { return nil }
      if vain?.mayTry == false { return nil }
      let item = outbox.next()
      if item?.kind == .post { vain?.mayTry = false }
      return item
    }

    /// - Returns: The mark up to which the answer confirms.
    private mutating func writePing() -> UInt64 {
      outbox.endRun(to: &output)
      output.writePing()
      pingNumber += 1
      (wantsPing, bytesSincePing) = (false, 0)
      return outbox.sentMark
    }

    /// The server doesn't take as much as the item that was sent last has.
    private mutating func refuseLast(_ item: Outbox.Item, _ server: ServerInfo) {
      guard let subject = outbox.dropLast() else { return }
      let reason =
        "A \(item.kind == .request ? "request" : "message") has \(item.size) bytes with its headers; "
        + "the server takes \(server.maxPayload) at the most."
      // The sender of a request learns of it.
      if item.kind != .request { incidents.append(.refused(subject: subject, reason)) }
      switch item.kind {
      // The attempt is over, and the next post is the oldest.
      case .post where vain != nil: (storing, vain) = (outbox.isAwaiting ? 0 : nil, nil)
      case .request where requests.ended(item.token):
        incidents.append(
          .reply(correlation: item.token, .refused, payload: Array(reason.utf8)))
      case .reply:
        // The asking client must learn of it.
        let text = Array("The answer is longer than the server takes.".utf8)
        outbox.endRun(to: &output)
        output.writePublish(subject, headers: Self.answerHeaders(failure: text), payload: text)
      default: break
      }
    }

    /// The server has taken all up to a mark.
    ///
    /// - Parameter isOwnPing: Whether it has answered a ping that the session wrote.
    mutating func confirmed(_ mark: UInt64, isOwnPing: Bool = true) {
      if isOwnPing { answeredPings = min(answeredPings + 1, pingNumber) }
      if !ending.isEmpty { ending = ending.filter { $0.value.lastPing ?? 0 > answeredPings } }
      readMark = max(readMark, mark)
      report(flushed: outbox.confirm(through: mark))
      // The server has been asked once more since the requested subscriptions are in force.
      if isReady { report(flushed: heldFlushes.takeAll()) }
    }

    /// Whether the requested subscriptions are in force.
    var isReady: Bool {
      (durable?.isReady ?? true) && shared.values.allSatisfy(\.isReady)
    }

    mutating func report(flushed tokens: [UInt64]) {
      let isReady = self.isReady
      for token in tokens {
        if !isReady, flushesOfPatterns.contains(token) {
          heldFlushes.append(token)
        } else {
          flushesOfPatterns.remove(token)
          incidents.append(.flushed(token))
        }
      }
    }
  }

  extension [UInt64] {
    fileprivate mutating func takeAll() -> Self {
      defer { self = [] }
      return self
    }
  }

  extension [RelayIncident] {
    /// Adds a loss; several of one kind in a row are one.
    mutating func addLoss(
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
