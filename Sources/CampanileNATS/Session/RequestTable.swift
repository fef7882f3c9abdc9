#if NATS
  /// The requests that a relay has sent, and those that it has received.
  struct RequestTable {
    /// A request of the relay's own.
    struct Asked {
      let subject: String
      let version: UInt32
      /// The content, if the relay itself may answer the request, and has not been asked yet.
      var own: [UInt8]?
      /// Whether it has been sent to a server.
      var isSent = false
    }

    /// The requests of the relay's own.
    private var asked: [UInt64: Asked] = [:]
    /// Where the answers of those that were received go.
    private var replies: [UInt64: String] = [:]
    /// The number of the last one.
    private var last: UInt64 = 0
    /// The number of requests that may be open; beyond that, the oldest are not answered, so many at
    /// once because each search for them looks at all.
    static let (limit, excess) = (65_536, 4_096)

    // MARK: Sent

    mutating func ask(_ correlation: UInt64, _ request: Asked) { asked[correlation] = request }

    /// Takes a request that has no other answerer, and its content.
    mutating func takeOwn(_ correlation: UInt64) -> (Asked, payload: [UInt8])? {
      guard let request = asked[correlation], let payload = request.own else { return nil }
      asked[correlation]?.own = nil
      return (request, payload)
    }

    mutating func wasSent(_ correlation: UInt64) { asked[correlation]?.isSent = true }

    /// The open requests that have been sent.
    var sent: [UInt64] { asked.filter(\.value.isSent).map(\.key) }

    func isOpen(_ correlation: UInt64) -> Bool { asked[correlation] != nil }

    /// The open requests to a subject, oldest first.
    func open(to subject: String) -> [UInt64] {
      asked.filter { $0.value.subject == subject }.keys.sorted()
    }

    /// - Returns: Whether the request was still open.
    mutating func ended(_ correlation: UInt64) -> Bool {
      asked.removeValue(forKey: correlation) != nil
    }

    // MARK: Received

    /// - Returns: The number of the request, whose answer goes to the subject; `nil` if no answer can.
    mutating func received(_ reply: String) -> UInt64? {
      if !NATSSubject.isName(reply) { return nil }
      last += 1
      replies[last] = reply
      if replies.count > Self.limit {
        for number in replies.keys.sorted().prefix(Self.excess) { replies[number] = nil }
      }
      return last
    }

    /// - Returns: The subject for the answer.
    mutating func answered(_ correlation: UInt64) -> String? {
      replies.removeValue(forKey: correlation)
    }
  }
#endif
