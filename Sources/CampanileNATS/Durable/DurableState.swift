#if NATS
  import CampanileRelay

  /// The state of receiving from a stream, without connections and without a clock.
  ///
  /// A receiver with a name has a consumer that the server keeps. The receiver acknowledges the
  /// delivered messages, and receives the rest after a restart. A receiver without a name has an
  /// ordered consumer. If a message is missing, the consumer is created again, after the last
  /// message that arrived.
  struct DurableState {
    let options: DurableOptions
    private let id: String
    private(set) var phase = Phase.idle
    private var isConnected = false
    private var patterns = SubscribedPatterns()
    /// Requests to be sent.
    var requests: [StreamRequest] = []
    /// Counts requests, so that answers to older ones are ignored.
    private var generation = 0
    private var isStreamReady = false
    /// When the stream was created, as the server writes it: another stream counts from one again.
    ///
    /// Servers of a cluster may name different times for the same stream, so a time says nothing more.
    private var created = ""
    /// How many messages the consumer with a name has sent, as far as is known.
    private var consumerSequence: UInt64 = 0
    private var consumer = ""
    private var terms: ConsumerTerms
    /// Whether the consumer is that of a group, and this one of several receivers.
    private var isShared = false
    /// How many bytes a request may have.
    private var maxPayload = 0
    /// How long no expected message has arrived.
    private var silence = 0
    /// How long no answer to a pull has arrived, whatever else was asked for meanwhile.
    private var pullSilence = 0
    /// Whether a part of a frame, and a whole one, have arrived since the last second.
    private var (hasPart, hasFrame) = (false, false)
    private var pulls = PullBudget()
    /// Counts connections: the pulls of one end with it, because nothing subscribes to them any
    /// more.
    private var connection = 0
    /// Whether anything has ever been known about the stream that is to be created.
    private var isStreamAsked = false
    /// Whether the stream is being created, for the first time or after a deletion.
    ///
    /// Earlier posts could not be stored, and later ones would be stored before them.
    private(set) var isStreamUnknown = false
    /// Why the stream was not created, while the server is asked whether it is there.
    private var refusal: StreamResponse.Failure?
    /// Whether the server has had its time to delete what it has reported to be deleted.
    private var hasAwaitedDeletion = false
    private var lastConsumerSequence: UInt64 = 0
    /// The last message that a receiver without a name has received.
    private var heardThrough: UInt64 = 0
    /// The messages that a receiver with a name has received.
    private var deliveries = NamedDeliveries()
    private var hasHeard = false
    /// Whether a pull had no receiver, and nothing has arrived since.
    private var isUnanswered = false
    /// How many requests had no answer in time since the last that succeeded or was refused.
    private var unansweredCount = 0
    private var hasGathered = false
    /// For how long changes of the subscriptions have been gathered.
    private var gatheredSeconds = 0
    /// Whether the subscriptions have changed since the consumer was asked for.
    private var hasChanged = false
    /// Whether no more messages are asked for.
    private var hasEndedHearing = false
    private var reported = ""
    private var seconds = 0

    private static let progressInterval = 3
    /// How many seconds of changes are taken together.
    private static let longestGathering = 3
    private static let longestFirstGathering = 30
    /// How many seconds a request may take: more after others without an answer.
    private var patience: Int { min(60, Self.shortestPatience << min(unansweredCount, 4)) }
    private static let shortestPatience = 5

    init(_ options: DurableOptions, id: String) {
      self.options = options
      self.id = id
      terms = ConsumerTerms(name: options.consumer)
    }

    /// Shares a consumer, which other receivers of the group have, too.
    ///
    /// - Parameter number: Tells its requests from those of other receivers of the relay.
    init(_ options: DurableOptions, id: String, sharing pattern: SubjectPattern, number: UInt64) {
      self.init(options, id: id)
      (isShared, terms.isShared, pulls) = (true, true, PullBudget(isShared: true))
      (generation, connection) = (Int(number) << 32, Int(number) << 32)
      setPatterns([pattern])
    }

    /// The number of the receiver that a request is of; 0 for the one that shares nothing.
    static func number(of token: Substring) -> UInt64 {
      (UInt64(token.dropFirst()) ?? 0) >> 32
    }

    /// Whether the requested subscriptions are in force.
    var isReady: Bool {
      if !isConnected || !isStreamReady { return false }
      return patterns.isEmpty || phase == .pulling && !hasChanged
    }

    var isNamed: Bool { options.consumer != nil }

    /// Where the messages of pulls arrive: a token, with one token after it.
    var pullInbox: String { "p\(connection)" }
    /// The inbox of pulls of the next connection.
    var nextPullInbox: String { "p\(connection + 1)" }

    // MARK: Beginnings

    mutating func connected(_ info: ServerInfo) {
      (isConnected, hasAwaitedDeletion) = (true, false)
      terms.isRecent = info.isAtLeast(2, 10)
      maxPayload = info.maxPayload
      connection += 1
      pulls = PullBudget(isShared: isShared)
      if options.subjects.isEmpty || isStreamReady {
        streamIsReady()
      } else {
        isStreamUnknown = !isStreamAsked
        createStream()
      }
    }

    private mutating func streamIsReady() {
      (isStreamReady, isStreamUnknown, unansweredCount) = (true, false, 0)
      if isNamed && !isShared && !hasGathered {
        begin(.gathering)
      } else {
        locate()
      }
    }

    mutating func disconnected() {
      (isConnected, phase, unansweredCount) = (false, .idle, 0)
      // Messages for a pull of this connection would arrive where there is no subscription.
      requests.removeAll { $0.token != Self.deletionToken }
    }

    /// - Parameter new: All subscriptions. New ones begin now.
    mutating func setPatterns(_ new: [SubjectPattern]) {
      // A consumer with a name begins by itself with what it is asked for first. It may be without a
      // filter, so what is added later has arrived before.
      let beginsByItself = isNamed && (patterns.isEmpty || !hasGathered)
      patterns.replace(with: new, startingAfter: beginsByItself ? 0 : nil)
      if patterns.isEmpty {
        (hasHeard, hasGathered, gatheredSeconds, hasChanged) = (false, false, 0, false)
        pulls.forget()
      }
      guard isConnected && isStreamReady else { return }
      switch phase {
      // No phase begins again with each of many changes, because nothing would arrive.
      case .awaitingDeletion: break
      case .gathering: silence = 0
      case _ where patterns.isEmpty: beginAnew()
      // It is asked for with the rest.
      case .creatingStream, .locating: break
      case .creatingConsumer: hasChanged = true
      case .idle: beginAnew()
      case .pulling: if !hasChanged { beginAnew() }
      }
    }

    /// Begins to receive something else.
    private mutating func beginAnew() { if isNamed { begin(.gathering) } else { locate() } }

    /// Asks for no more messages; those that have been sent are still received.
    mutating func endHearing() { hasEndedHearing = true }

    /// Handles posts that are not stored: the stream may have been deleted.
    mutating func streamMayBeMissing() {
      // A receiver notices that by itself.
      if isConnected, phase == .idle, !options.subjects.isEmpty { awaitDeletion() }
    }

    private mutating func awaitDeletion() {
      hasAwaitedDeletion = true
      pulls.forget()
      isStreamUnknown = !options.subjects.isEmpty
      if !isNamed { consumer = "" }
      begin(.awaitingDeletion)
    }

    private mutating func createStream() {
      (hasAwaitedDeletion, refusal) = (false, nil)
      begin(.creatingStream)
      requests.append(
        StreamRequest(
          "STREAM.CREATE.\(options.stream)", token: "s\(generation)",
          StreamConfiguration(
            name: options.stream, subjects: options.subjects, num_replicas: options.replicas)))
    }

    /// Begins to receive, or to receive something else.
    private mutating func locate() {
      deleteConsumer()
      begin(patterns.isEmpty ? .idle : .locating)
      if patterns.isEmpty {
        isStreamUnknown = false
        return
      }
      askForStream()
    }

    private mutating func askForStream() {
      requests.append(
        StreamRequest("STREAM.INFO.\(options.stream)", token: "i\(generation)", [String: Int]()))
    }

    /// Receives anew: messages may be missing, and pulls may have ended.
    private mutating func receiveAnew() {
      pulls.forget()
      locate()
    }

    private mutating func located(_ created: String, _ last: UInt64) {
      if created != self.created {
        if !self.created.isEmpty {
          patterns.streamIsAnother()
          (heardThrough, deliveries) = (0, NamedDeliveries())
          terms.streamIsAnother()
        }
        consumerSequence = 0
        self.created = created
      }
      terms.streamIsLocated()
      // A stream that has lost its end uses these numbers again.
      heardThrough = min(heardThrough, last)
      patterns.streamEnds(at: last)
      if !hasHeard { (heardThrough, hasHeard) = (last, true) }
      createConsumer()
    }

    private mutating func createConsumer() {
      begin(.creatingConsumer)
      hasChanged = false
      consumer = options.consumer ?? "relay\(id)n\(generation)"
      var request = consumerRequest()
      if request.json.count > maxPayload {
        terms.leaveOutFilters()
        request = consumerRequest()
      }
      requests.append(request)
    }

    private func consumerRequest() -> StreamRequest {
      let configuration = terms.configuration(consumer, of: patterns.all, after: heardThrough)
      return StreamRequest(
        "CONSUMER.CREATE.\(options.stream).\(consumer)", token: "c\(generation)",
        ConsumerRequest(stream_name: options.stream, config: configuration))
    }

    /// A receiver without a name leaves no consumer behind: an account may have a limited number.
    private mutating func deleteConsumer() {
      if isNamed || consumer.isEmpty { return }
      requests.append(
        StreamRequest(
          "CONSUMER.DELETE.\(options.stream).\(consumer)", token: Self.deletionToken,
          [String: Int]()))
      consumer = ""
    }

    private mutating func begin(_ phase: Phase) {
      generation += 1
      (self.phase, silence, lastConsumerSequence) = (phase, 0, 0)
      gatheredSeconds = 0
      // The pulls of a consumer with a name go on while it is changed.
      if !isNamed { pulls.forget() }
    }

    // MARK: Answers

    /// An answer of JetStream.
    ///
    /// - Returns: What is wrong, as a sentence, if anything is.
    mutating func answered(_ token: Substring, _ message: ServerMessage) -> String? {
      guard token.dropFirst() == String(generation) else { return nil }
      (isStreamAsked, isStreamUnknown) = (true, false)
      guard message.headers.status == nil, let response = StreamResponse(message.payload) else {
        unansweredCount = 0
        return report("JetStream doesn't answer for the stream \"\(options.stream)\".")
      }
      switch phase {
      case .creatingStream:
        // 10058: there is such a stream, which is configured otherwise.
        if let error = response.error, error.err_code != 10_058 {
          if let refusal { return report(refusal) }
          // The server may object to the request before it looks for the stream.
          refusal = error
          askForStream()
          return nil
        }
        streamIsReady()
      case .locating:
        // 10059: there is no such stream, or there is none any more.
        if response.error?.err_code == 10_059, !options.subjects.isEmpty {
          if !hasAwaitedDeletion {
            awaitDeletion()
            return nil
          }
          isStreamUnknown = true
          createStream()
          return nil
        }
        if let error = response.error { return report(error) }
        hasAwaitedDeletion = false
        located(response.created ?? "", response.state?.last_seq ?? 0)
      case .creatingConsumer:
        if let error = response.error {
          if !terms.relax(for: error) { return report(error) }
          createConsumer()
          return nil
        }
        terms.consumerIsCreated()
        unansweredCount = 0
        // The time of its creation proves nothing: the answer to the first request after a restart
        // of the server names another time (nats-server 2.9 to 2.15).
        let sequence = response.delivered?.consumer_seq ?? consumerSequence
        let isAnother = isNamed && sequence == 0 && consumerSequence > 0
        consumerSequence = sequence
        pull()
        // Without a connection or a pull, the server has not said so.
        if isAnother { return reportDeletion() }
        // Its pulls have heartbeats nevertheless.
        if response.paused == true {
          return report(
            "The consumer \"\(consumer)\" is paused, and sends nothing until the pause ends. "
              + "The command \"nats consumer resume\" ends it.")
        }
      default: break
      }
      return nil
    }

    /// The server does not permit a request.
    mutating func denied(_ subject: String, _ text: String) {
      guard phase == .creatingStream, refusal == nil,
        subject == "$JS.API.STREAM.CREATE.\(options.stream)"
      else { return }
      // Another program may have created the stream.
      refusal = StreamResponse.Failure(code: 403, description: text)
      askForStream()
    }

    private mutating func report(_ error: StreamResponse.Failure) -> String? {
      unansweredCount = 0
      return report("JetStream refuses the stream \"\(options.stream)\": \(error.text).")
    }

    /// - Returns: The sentence, unless it was the last one too: it is tried again and again.
    private mutating func report(_ sentence: String) -> String? {
      defer { reported = sentence }
      return reported == sentence ? nil : sentence
    }

    private mutating func pull() {
      (phase, silence) = (.pulling, 0)
      askForMore()
      if hasChanged && isNamed { begin(.gathering) }
    }

    private mutating func askForMore() {
      // No other receiver of the group can take the messages that this one has in hand.
      let inHand = isShared ? deliveries.open.count : 0
      guard !hasEndedHearing, let pull = pulls.next(inHand: inHand) else { return }
      requests.append(
        StreamRequest(
          "CONSUMER.MSG.NEXT.\(options.stream).\(consumer)", token: "\(pullInbox).\(generation)",
          pull))
    }

    /// Asks for more in place of what has arrived.
    private mutating func goOn() {
      switch phase {
      case .pulling: pull()
      case .gathering where hasGathered: askForMore()
      default: break
      }
    }

    /// The server sends what was asked for, or says that there is nothing.
    private mutating func heardOfPull() {
      pullSilence = 0
      // Meanwhile the silence of another request is measured.
      guard phase == .pulling else { return }
      (silence, isUnanswered) = (0, false)
      if !reported.isEmpty { reported = "" }
    }

    // MARK: Messages

    /// Something has arrived by the connection, which need not be of the stream.
    ///
    /// - Parameter isWhole: Whether there is a whole frame in it.
    mutating func arrived(isWhole: Bool) {
      if isWhole { hasFrame = true } else { hasPart = true }
    }

    /// Handles an arrival for a pull: a message of the stream, or a status of the pull.
    mutating func received(_ message: ServerMessage) -> News {
      // This is checked first, because a stored message may look like a status.
      guard let place = StreamPlace(message.reply) else {
        guard let status = message.headers.status else { return .none }
        return received(status, of: message).map(News.refusal) ?? .none
      }
      switch phase {
      case .pulling: break
      // The pulls of a consumer with a name continue while it is changed. Without subscriptions,
      // their messages are not acknowledged, and are sent again.
      case .gathering, .locating, .creatingConsumer:
        guard isNamed, !patterns.isEmpty else { return .none }
      case .idle, .awaitingDeletion, .creatingStream: return .none
      }
      heardOfPull()
      // The rest of a consumer before this one.
      if !isNamed, place.consumer != consumer { return .none }
      pulls.arrived()
      defer { goOn() }
      let isWanted = patterns.want(message.subject, at: place)
      if isNamed {
        consumerSequence = place.consumerSequence
        return deliveries.hear(place, isWanted: isWanted)
      }
      guard place.consumerSequence == lastConsumerSequence + 1 else {
        // Something is missing.
        receiveAnew()
        return .none
      }
      lastConsumerSequence = place.consumerSequence
      if place.streamSequence <= heardThrough { return .none }
      heardThrough = place.streamSequence
      return isWanted ? .new(acknowledgment: nil) : .none
    }

    /// Handles a status of a pull.
    ///
    /// - Returns: Why the server refuses pulls, if it does.
    private mutating func received(_ status: Int, of message: ServerMessage) -> String? {
      switch phase {
      case .pulling:
        guard isNamed || message.subject.hasSuffix(".\(generation)") else { return nil }
      case .gathering, .locating, .creatingConsumer:
        guard isNamed else { return nil }
      default: return nil
      }
      func number(_ field: String) -> UInt64? {
        message.headers.text(of: field).flatMap(UInt64.init)
      }
      switch status {
      case 100:
        heardOfPull()
        if isNamed { return nil }
        // The last message that was sent may be missing.
        if number("Nats-Last-Consumer") ?? 0 > lastConsumerSequence {
          receiveAnew()
          return nil
        }
        // The consumer has also passed over messages without a subscription here.
        heardThrough = max(heardThrough, number("Nats-Last-Stream") ?? 0)
      case 408, 404: endedPull(pending: number("Nats-Pending-Messages"))
      // Said of a pull with a limit of bytes, too.
      case 409 where message.headers.statusText.contains("Batch Completed"):
        endedPull(pending: number("Nats-Pending-Messages") ?? 0)
      case 409 where message.headers.statusText.contains("Exceeds MaxBytes"):
        guard pulls.grow(left: number("Nats-Pending-Bytes") ?? 0) else { fallthrough }
        endedPull(pending: number("Nats-Pending-Messages"))
      default:
        let text = message.headers.statusText
        if phase == .pulling || text.contains(Self.deletion) { return refused(status, text) }
        if pulls.shrink(by: text) {
          goOn()
          return nil
        }
        pulls.forget()
      }
      return nil
    }

    /// The time of a pull is over, or it has brought what it asked for.
    private mutating func endedPull(pending: UInt64?) {
      heardOfPull()
      pulls.ended(pending: pending)
      goOn()
    }

    /// The server does not do what a pull asks for.
    private mutating func refused(_ status: Int, _ text: String) -> String? {
      if pulls.shrink(by: text) {
        pull()
      } else if text.contains(Self.deletion) {
        (isUnanswered, consumerSequence) = (false, 0)
        awaitDeletion()
        return isNamed ? reportDeletion() : nil
      } else if Self.ends.contains(where: text.contains) || status == 503 && !isUnanswered {
        isUnanswered = status == 503
        receiveAnew()
      } else {
        // It might refuse the next pull as well: that waits for a second.
        deleteConsumer()
        pulls.forget()
        begin(.locating)
        silence = patience - 1
        let answer = text.isEmpty ? "\(status)" : "\(status) \(text)"
        return report("JetStream sends nothing of the stream \"\(options.stream)\": \(answer).")
      }
      return nil
    }

    private mutating func reportDeletion() -> String? {
      report(
        "The consumer \"\(consumer)\" has been deleted. What the stream stores until there is a new "
          + "one is not heard.")
    }

    /// How the server says that a consumer, and maybe its stream, is being deleted.
    private static let deletion = "Consumer Deleted"
    /// How the server says that a consumer has to be looked for.
    private static let ends = ["Leadership Change", "Shutdown"]

    /// A message has been delivered to all its observers, or has none.
    ///
    /// - Returns: Whether to acknowledge it. In another stream of the name, another message may have
    ///   its number.
    mutating func finished(_ acknowledgment: String) -> Bool {
      let isOpen = deliveries.finished(acknowledgment)
      if isShared, phase == .pulling { askForMore() }
      return isOpen
    }

    /// One second has passed, whether anything is read or not.
    ///
    /// - Returns: Where to say that messages are still being delivered, from time to time.
    mutating func tickDeliveries() -> [String] {
      seconds &+= 1
      if !isConnected || seconds % Self.progressInterval != 0 { return [] }
      return deliveries.open
    }

    // MARK: Time

    /// One second has passed.
    ///
    /// - Returns: What is wrong, as a sentence, if anything is.
    @discardableResult
    mutating func tick() -> String? {
      guard isConnected else { return nil }
      // Nothing else arrives until the rest of a long message has.
      let isLong = hasPart && !hasFrame
      (hasPart, hasFrame) = (false, false)
      if phase != .pulling || !isLong { silence += 1 }
      if !isLong { tickPulls() }
      // Nothing is asked for while it has enough in hand.
      if isShared, phase == .pulling, !pulls.isOpen { silence = 0 }
      switch phase {
      case .idle: break
      case .awaitingDeletion:
        if silence <= 1 { break }
        if patterns.isEmpty, !options.subjects.isEmpty { createStream() } else { locate() }
      case .creatingStream:
        if silence >= patience {
          isStreamAsked = true
          createStream()
          return unanswered()
        }
      case .gathering:
        gatheredSeconds += 1
        // A consumer that is there already may be asked for less at first, and then loses the rest.
        let limit = hasGathered ? Self.longestGathering : Self.longestFirstGathering
        if silence > 1 || gatheredSeconds > limit {
          hasGathered = !patterns.isEmpty
          locate()
        }
      case .locating, .creatingConsumer:
        if silence >= patience {
          locate()
          return unanswered()
        }
      // A server with nothing to send says so each five seconds.
      case .pulling:
        let silence = max(self.silence, pullSilence)
        if hasChanged {
          locate()
        } else if silence > 2 * Self.shortestPatience {
          receiveAnew()
        } else if silence > Self.shortestPatience, pulls.isUsedUp {
          // A pull that has brought exactly the bytes that it asked for ends without a status.
          pulls.forget()
          pull()
          self.silence = silence
        }
      }
      return nil
    }

    /// Measures the silence of pulls, and forgets those that were lost while something else was asked
    /// for.
    private mutating func tickPulls() {
      pullSilence = isNamed && pulls.isOpen ? pullSilence + 1 : 0
      if phase == .pulling || pullSilence <= 2 * Self.shortestPatience { return }
      pulls.forget()
      pullSilence = 0
    }

    /// Counts a request without an answer, and returns a sentence from the second one on.
    private mutating func unanswered() -> String? {
      unansweredCount += 1
      isStreamUnknown = false
      if unansweredCount < 2 { return nil }
      return report("JetStream doesn't answer for the stream \"\(options.stream)\".")
    }

    /// The relay ends: the server need not keep what is this relay's alone.
    mutating func leave() { deleteConsumer() }
  }
#endif
