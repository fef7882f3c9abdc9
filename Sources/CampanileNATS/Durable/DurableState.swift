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
    let id: String
    var phase = Phase.idle
    var isConnected = false
    var patterns = SubscribedPatterns()
    /// Requests to be sent.
    var requests: [StreamRequest] = []
    /// Counts requests, so that answers to older ones are ignored.
    var generation = 0
    /// Whether the stream has been found or created, unless it must be there.
    var isStreamReady: Bool
    /// When the stream was created, as the server writes it: another stream counts from one again.
    ///
    /// Servers of a cluster may name different times for the same stream, so a time says nothing more.
    var created = ""
    /// How many messages the consumer with a name has sent, as far as is known.
    var consumerSequence: UInt64 = 0
    /// The last message that it has sent, or `nil` if some before that may not have been heard here.
    var lastHeard: UInt64?
    var consumer = ""
    var terms: ConsumerTerms
    /// Whether the consumer is that of a group, and this one of several receivers.
    var isShared = false
    /// How many bytes a request may have.
    var maxPayload = 0
    /// How long an answer has been waited for.
    var silence = 0
    var pulls = PullBudget()
    /// Counts connections: the pulls of one end with it, because nothing subscribes to them any
    /// more.
    var connection = 0
    /// Whether anything has ever been known about the stream that is to be created.
    var isStreamAsked = false
    /// Whether the stream is being created, for the first time or after a deletion.
    ///
    /// Earlier posts could not be stored, and later ones would be stored before them.
    var isStreamUnknown = false
    var lastConsumerSequence: UInt64 = 0
    /// The last message that a receiver without a name has received.
    var heardThrough: UInt64 = 0
    /// The messages that a receiver with a name has received.
    var deliveries = NamedDeliveries()
    var hasHeard = false
    /// Whether a pull had no receiver, and nothing has arrived since.
    var isUnanswered = false
    /// How many requests had no answer in time since the last that succeeded or was refused.
    var unansweredCount = 0
    /// Why JetStream is not ready, as the last answer says.
    var refusal: StreamResponse.Failure?
    var hasGathered = false
    /// For how long changes of the subscriptions have been gathered.
    var gatheredSeconds = 0
    /// Whether the subscriptions have changed since the consumer was asked for.
    var hasChanged = false
    /// Whether no more messages are asked for; those that have been sent are still received.
    var hasEndedHearing = false
    var reported = ""

    /// How many seconds of changes are taken together.
    static let longestGathering = 3
    static let longestFirstGathering = 30
    /// How many seconds a request may take: more after others without an answer.
    var patience: Int { min(60, Self.shortestPatience << min(unansweredCount, 4)) }
    static let shortestPatience = 5

    init(_ options: DurableOptions, id: String) {
      self.options = options
      self.id = id
      isStreamReady = options.subjects.isEmpty
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
      isConnected = true
      terms.isRecent = info.isAtLeast(2, 10)
      maxPayload = info.maxPayload
      connection += 1
      pulls = PullBudget(isShared: isShared)
      if isStreamReady { return streamIsReady() }
      isStreamUnknown = !isStreamAsked
      locate()
    }

    mutating func streamIsReady() {
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
        refusal = nil
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
    mutating func beginAnew() { if isNamed { begin(.gathering) } else { locate() } }

    /// Handles posts that are not stored: the stream may have been deleted.
    mutating func streamMayBeMissing() {
      // A receiver notices that by itself.
      if isConnected, phase == .idle, !options.subjects.isEmpty { awaitDeletion() }
    }

    mutating func awaitDeletion() {
      pulls.forget()
      isStreamUnknown = !options.subjects.isEmpty
      isStreamReady = !isStreamUnknown
      if !isNamed { consumer = "" }
      begin(.awaitingDeletion)
    }

    mutating func createStream() {
      // Posts have waited for it once, if it has not been answered.
      isStreamUnknown = unansweredCount == 0
      begin(.creatingStream)
      requests.append(
        StreamRequest(
          "STREAM.CREATE.\(options.stream)", token: "s\(generation)",
          StreamConfiguration(
            name: options.stream, subjects: options.subjects, num_replicas: options.replicas)))
    }

    /// Looks for the stream, and begins to receive, or to receive something else.
    mutating func locate() {
      deleteConsumer()
      if patterns.isEmpty && isStreamReady {
        begin(.idle)
        isStreamUnknown = false
        return
      }
      begin(.locating)
      requests.append(
        StreamRequest("STREAM.INFO.\(options.stream)", token: "i\(generation)", [String: Int]()))
    }

    /// Receives anew: messages may be missing, and pulls may have ended.
    mutating func receiveAnew() {
      pulls.forget()
      locate()
    }

    mutating func located(_ created: String, _ last: UInt64) {
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

    mutating func createConsumer() {
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
    mutating func deleteConsumer() {
      if isNamed || consumer.isEmpty { return }
      requests.append(
        StreamRequest(
          "CONSUMER.DELETE.\(options.stream).\(consumer)", token: Self.deletionToken,
          [String: Int]()))
      consumer = ""
    }

    mutating func begin(_ phase: Phase) {
      generation += 1
      (self.phase, silence, lastConsumerSequence, gatheredSeconds) = (phase, 0, 0, 0)
      // The pulls of a consumer with a name go on while it is changed.
      if !isNamed { pulls.forget() }
    }
  }

  extension DurableState {
    /// The phases of a receiver: its work, or what it waits for.
    enum Phase: Equatable {
      /// Not connected, or nothing to receive.
      case idle
      /// Gives the server a second to delete the files of the stream or of the consumer.
      ///
      /// The server reports a deletion before it deletes the files. A stream that is created meanwhile
      /// loses its own (`stream.stop` and `consumer.stopWithFlags` of nats-server 2.9 to 2.15).
      case awaitingDeletion
      case creatingStream
      /// Asks where the stream ends, and whether it is still the same stream.
      case locating
      /// Waits until the subscriptions have not changed for a second, or have changed for long enough.
      ///
      /// A consumer with a name doesn't keep messages that it isn't asked for.
      case gathering
      case creatingConsumer
      case pulling
    }

    /// The answer to the deletion of a consumer, which is not read.
    static let deletionToken = "x"

    /// The kinds of arrivals for a pull.
    enum News: Equatable {
      case new(acknowledgment: String?)
      /// It has been received before, or has no subscription here.
      case unwanted(acknowledgment: String)
      /// Anything other than a message, or one that will arrive again.
      case none
      /// The server refuses a pull; a sentence.
      case refusal(String)
    }
  }
#endif
