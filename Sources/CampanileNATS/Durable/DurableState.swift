#if NATS
  import CampanileRelay

  /// The state of receiving from a stream, without connections and without a clock.
  ///
  /// A receiver with a name has a consumer that the server keeps. The receiver acknowledges the
  /// delivered messages, and receives the rest after a restart. A receiver without a name has an
  /// ordered consumer. If a message is missing, the consumer is created again, after the last
  /// message that arrived.
  struct DurableState {
    enum Phase: Equatable {
      /// Not connected, or nothing to receive.
      case idle
      case creatingStream
      /// Waits until the subscriptions have not changed for a second.
      ///
      /// A consumer with a name doesn't keep messages that it isn't asked for.
      case gathering
      case creatingConsumer
      /// Waits until the server sends unacknowledged messages again, so that newer ones don't
      /// overtake them.
      case settling(seconds: Int)
      case pulling
    }

    let options: DurableOptions
    private let id: String
    private(set) var phase = Phase.idle
    private var isConnected = false
    private var canFilter = false
    private(set) var patterns: [String] = []
    /// Requests to be sent.
    var requests: [StreamRequest] = []
    /// Counts requests: answers to older ones are not heard.
    private var generation = 0
    private var isStreamReady = false
    /// How long no expected message has arrived.
    private var silence = 0
    /// How many messages the server may still send.
    private var asked = 0
    private var lastConsumerSequence: UInt64 = 0
    /// The last that a receiver without a name has heard.
    private var heardThrough: UInt64 = 0
    /// The messages that a receiver with a name has heard and that can arrive again.
    private var heard: Set<UInt64> = []
    private var hasHeard = false
    private var hasGathered = false
    private var reported = ""

    static let batch = 500
    /// After so many seconds without an acknowledgement, the server sends a message again.
    static let acknowledgmentWait = 6
    private static let patience = 5

    init(_ options: DurableOptions, id: String) {
      self.options = options
      self.id = id
    }

    /// Whether what was asked to be heard is in force.
    var isReady: Bool {
      if !isConnected || !isStreamReady { return false }
      return patterns.isEmpty || phase == .pulling
    }

    private var isNamed: Bool { options.consumer != nil }
    private var consumer: String { options.consumer ?? "relay\(id)n\(generation)" }

    // MARK: Beginnings

    mutating func connected(_ info: ServerInfo) {
      (isConnected, canFilter) = (true, info.isAtLeast(2, 10))
      if options.subjects.isEmpty || isStreamReady {
        streamIsReady()
      } else {
        createStream()
      }
    }

    private mutating func streamIsReady() {
      isStreamReady = true
      if isNamed && !hasGathered {
        begin(.gathering)
      } else {
        createConsumer()
      }
    }

    mutating func disconnected() { (isConnected, phase) = (false, .idle) }

    mutating func setPatterns(_ patterns: [String]) {
      self.patterns = patterns
      guard isConnected && isStreamReady else { return }
      if isNamed {
        begin(.gathering)
      } else {
        createConsumer()
      }
    }

    private mutating func createStream() {
      begin(.creatingStream)
      requests.append(
        StreamRequest(
          "STREAM.CREATE.\(options.stream)", token: "s\(generation)",
          StreamConfiguration(
            name: options.stream, subjects: options.subjects, num_replicas: options.replicas)))
    }

    private mutating func createConsumer() {
      if !isNamed, phase == .pulling { deleteConsumer() }
      begin(patterns.isEmpty ? .idle : .creatingConsumer)
      if patterns.isEmpty { return }
      var configuration = ConsumerRequest.Configuration(name: consumer)
      if isNamed {
        configuration.durable_name = consumer
        configuration.ack_policy = "explicit"
        configuration.ack_wait = Self.acknowledgmentWait * 1_000_000_000
        configuration.max_ack_pending = 4 * Self.batch
      } else {
        configuration.inactive_threshold = 300_000_000_000
        configuration.mem_storage = true
        configuration.num_replicas = 1
        if hasHeard {
          configuration.deliver_policy = "by_start_sequence"
          configuration.opt_start_seq = heardThrough + 1
        }
      }
      let filters = PatternSet.filters(patterns)
      if filters.count == 1 {
        configuration.filter_subject = filters[0]
      } else if canFilter, !filters.isEmpty {
        configuration.filter_subjects = filters
      }
      requests.append(
        StreamRequest(
          "CONSUMER.CREATE.\(options.stream).\(consumer)", token: "c\(generation)",
          ConsumerRequest(stream_name: options.stream, config: configuration)))
    }

    private mutating func deleteConsumer() {
      requests.append(
        StreamRequest("CONSUMER.DELETE.\(options.stream).\(consumer)", token: "x", [String: Int]()))
    }

    private mutating func begin(_ phase: Phase) {
      generation += 1
      (self.phase, silence, asked, lastConsumerSequence) = (phase, 0, 0, 0)
    }

    // MARK: Answers

    /// An answer of JetStream.
    ///
    /// - Returns: What is wrong, as a sentence, if anything is.
    mutating func answered(_ token: Substring, _ message: ServerMessage) -> String? {
      guard token.dropFirst() == String(generation) else { return nil }
      guard message.headers.status == nil, let response = StreamResponse(message.payload) else {
        return report("JetStream doesn't answer for the stream \"\(options.stream)\".")
      }
      switch phase {
      case .creatingStream:
        // 10058: there is such a stream, which is configured otherwise.
        if let error = response.error, error.err_code != 10_058 { return report(error) }
        streamIsReady()
      case .creatingConsumer:
        if let error = response.error { return report(error) }
        if !hasHeard, let start = response.delivered { heardThrough = start.stream_seq }
        hasHeard = true
        if response.num_ack_pending ?? 0 > 0 {
          phase = .settling(seconds: Self.acknowledgmentWait + 1)
        } else {
          pull()
        }
      default: break
      }
      return nil
    }

    private mutating func report(_ error: StreamResponse.Failure) -> String? {
      report(
        "JetStream refuses the stream \"\(options.stream)\": "
          + "\(error.description ?? "error \(error.code)").")
    }

    /// - Returns: The sentence, unless it was the last one too: it is tried again and again.
    private mutating func report(_ sentence: String) -> String? {
      defer { reported = sentence }
      return reported == sentence ? nil : sentence
    }

    private mutating func pull() {
      (phase, silence, reported) = (.pulling, 0, "")
      guard asked <= Self.batch / 2 else { return }
      asked += Self.batch
      requests.append(
        StreamRequest(
          "CONSUMER.MSG.NEXT.\(options.stream).\(consumer)", token: "p.\(generation)",
          PullRequest(batch: Self.batch)))
    }

    // MARK: Messages

    enum News: Equatable {
      case new(acknowledgment: String?)
      /// It has been heard before, and arrives again.
      case double(acknowledgment: String)
      /// Anything other than a message.
      case none
    }

    /// Handles an arrival for a pull: a message of the stream, or a status of the pull.
    mutating func received(_ message: ServerMessage) -> News {
      guard phase == .pulling else { return .none }
      silence = 0
      switch message.headers.status {
      case nil: break
      case 100:
        // The last message that was sent may be missing.
        let last = message.headers.text(of: "Nats-Last-Consumer").flatMap(UInt64.init) ?? 0
        if !isNamed, last > lastConsumerSequence { createConsumer() }
        return .none
      case 408, 404:
        // The time of a pull is over: the server says how many messages it doesn't send.
        let rest = message.headers.text(of: "Nats-Pending-Messages").flatMap(Int.init) ?? asked
        asked = max(0, asked - rest)
        pull()
        return .none
      default:
        // The consumer has gone, or has another leader.
        createConsumer()
        return .none
      }
      guard let place = StreamPlace(message.reply) else { return .none }
      asked = max(0, asked - 1)
      defer { if phase == .pulling { pull() } }
      if isNamed { return hearNamed(place) }
      guard place.consumerSequence == lastConsumerSequence + 1 else {
        // Something is missing.
        createConsumer()
        return .none
      }
      lastConsumerSequence = place.consumerSequence
      if hasHeard, place.streamSequence <= heardThrough { return .none }
      (heardThrough, hasHeard) = (place.streamSequence, true)
      return .new(acknowledgment: nil)
    }

    private mutating func hearNamed(_ place: StreamPlace) -> News {
      let isNew = heard.insert(place.streamSequence).inserted
      // So many are remembered as can be sent again, and more.
      if heard.count > 16 * Self.batch {
        heard = Set(heard.sorted().suffix(8 * Self.batch))
      }
      return isNew
        ? .new(acknowledgment: place.acknowledgment)
        : .double(acknowledgment: place.acknowledgment)
    }

    // MARK: Time

    /// One second has passed.
    mutating func tick() {
      guard isConnected else { return }
      silence += 1
      switch phase {
      case .idle: break
      case .creatingStream: if silence >= Self.patience { createStream() }
      case .gathering:
        if silence > 1 {
          hasGathered = true
          createConsumer()
        }
      case .creatingConsumer: if silence >= Self.patience { createConsumer() }
      case .settling(let seconds):
        if seconds > 1 {
          phase = .settling(seconds: seconds - 1)
        } else {
          pull()
        }
      // A server with nothing to send says so each five seconds.
      case .pulling: if silence > 2 * Self.patience { createConsumer() }
      }
    }
  }
#endif
