#if NATS
  import CampanileRelay

  /// The settings that a consumer is created with: fewer, where the server has refused more.
  struct ConsumerTerms {
    private let name: String?
    /// Whether the server has version 2.10 or later.
    var isRecent = false
    /// Whether the consumer is that of a group, whose one filter never changes.
    var isShared = false
    /// Whether a consumer with a name begins with the first message of the stream.
    ///
    /// The policy of a consumer cannot be changed, so it has to be the one that the consumer has.
    private var deliversAll = false
    /// Whether the other policy has been tried since the stream was located.
    private var hasTriedPolicies = false
    /// Whether the server refuses to filter, or the filters are too long for a request.
    ///
    /// It holds for as long as the stream is as it was when located.
    private var isUnfiltered = false

    /// After so many seconds without an acknowledgement, the server sends a message again.
    static let acknowledgmentWait = 6

    init(name: String?) {
      self.name = name
    }

    /// The stream is there, as before or with another configuration.
    mutating func streamIsLocated() { (hasTriedPolicies, isUnfiltered) = (false, false) }

    /// Another stream has the name, of which all messages are to be received.
    mutating func streamIsAnother() { deliversAll = true }

    /// There is such a consumer.
    ///
    /// If only the consumer is deleted, the next one begins at that time.
    mutating func consumerIsCreated() { deliversAll = false }

    /// The request for a consumer.
    ///
    /// - Parameters:
    ///   - consumer: The name of the consumer.
    ///   - heardThrough: The message after which a consumer without a name begins.
    func configuration(
      _ consumer: String, of patterns: [SubjectPattern], after heardThrough: UInt64
    ) -> ConsumerRequest.Configuration {
      var configuration = ConsumerRequest.Configuration(name: consumer)
      if name != nil {
        configuration.durable_name = consumer
        configuration.deliver_policy = deliversAll ? "all" : "new"
        configuration.ack_policy = "explicit"
        configuration.ack_wait = Self.acknowledgmentWait * 1_000_000_000
      } else {
        configuration.max_deliver = 1
        configuration.mem_storage = true
        configuration.deliver_policy = "by_start_sequence"
        // The server may report any value of its own.
        configuration.opt_start_seq = heardThrough &+ 1
      }
      // Before version 2.10, a server takes one filter, and doesn't take the change of one in all
      // respects: messages would be passed over (mended in nats-server by 836848c).
      if isUnfiltered || !isRecent && name != nil && !isShared { return configuration }
      let filters = Self.filters(patterns)
      if filters.count == 1 {
        configuration.filter_subject = filters[0]
      } else if isRecent {
        configuration.filter_subjects = filters
      }
      return configuration
    }

    /// The filters are too long: the consumer sends all that the stream has.
    mutating func leaveOutFilters() { isUnfiltered = true }

    /// The server refuses what was asked for.
    ///
    /// - Returns: Whether it may create a consumer that is asked for now.
    mutating func relax(for error: StreamResponse.Failure) -> Bool {
      if name != nil, !hasTriedPolicies, error.description?.contains("deliver policy") == true {
        // The consumer exists, but began elsewhere in the stream.
        hasTriedPolicies = true
        deliversAll.toggle()
        return true
      }
      // 10093: before version 2.10, a filter must not be wider than what the stream stores. 10138:
      // some versions of nats-server refuse filters that have only some names in common.
      guard let code = error.err_code, [10_093, 10_138].contains(code), !isUnfiltered else {
        return false
      }
      isUnfiltered = true
      return true
    }

    /// The patterns without those that another one covers.
    static func filters(_ patterns: [SubjectPattern]) -> [String] {
      patterns.filter { pattern in !patterns.contains { $0 != pattern && $0.covers(pattern) } }
        .map(\.text)
    }
  }

  extension SubjectPattern {
    /// Whether each name that matches the other pattern matches this one.
    fileprivate func covers(_ other: SubjectPattern) -> Bool {
      matches(other.text) && (text.hasSuffix(">") || !other.text.hasSuffix(">"))
    }
  }
#endif
