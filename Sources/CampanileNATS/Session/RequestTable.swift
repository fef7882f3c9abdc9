#if NATS
  import NIOCore

  /// The requests that a relay has sent, and those that it has received.
  struct RequestTable {
    /// The second in which each request of the relay's own ends, and its subject.
    private var asked: [UInt64: (deadline: Int, subject: String)] = [:]
    private var now = 0
    /// Where the answers of those that were received go.
    private var replies: [UInt64: String] = [:]
    private var numbers: [String: UInt64] = [:]
    private var order = CircularBuffer<UInt64>()
    private var last: UInt64 = 0
    /// The number of requests that may be open; an answer that comes after as many other requests
    /// is not sent.
    static let limit = 65_536

    // MARK: Sent

    mutating func ask(_ correlation: UInt64, _ subject: String, seconds: Int) {
      asked[correlation] = (now + seconds + 1, subject)
    }

    /// The requests that are open, oldest first.
    var open: [UInt64] { asked.keys.sorted() }

    /// The open requests to a subject, oldest first.
    func open(to subject: String) -> [UInt64] {
      asked.filter { $0.value.subject == subject }.keys.sorted()
    }

    /// - Returns: Whether the request was still open.
    mutating func ended(_ correlation: UInt64) -> Bool {
      asked.removeValue(forKey: correlation) != nil
    }

    /// One second has passed.
    ///
    /// - Returns: The requests whose time is over.
    mutating func tick() -> [UInt64] {
      now += 1
      let over = asked.filter { $0.value.deadline < now }.keys.sorted()
      for correlation in over { asked[correlation] = nil }
      return over
    }

    // MARK: Received

    /// - Parameter isOnly: Whether no other request has its answer there.
    /// - Returns: The number of the request, whose answer goes to the subject; `nil` if it has
    ///   arrived already, on another connection.
    mutating func received(_ reply: String, isOnly: Bool) -> UInt64? {
      guard NATSSubject.isName(reply), !isOnly || numbers[reply] == nil else { return nil }
      last += 1
      (replies[last], numbers[reply]) = (reply, last)
      order.append(last)
      if order.count > Self.limit, let oldest = order.popFirst() { _ = answered(oldest) }
      return last
    }

    /// - Returns: The subject for the answer.
    mutating func answered(_ correlation: UInt64) -> String? {
      guard let reply = replies.removeValue(forKey: correlation) else { return nil }
      if numbers[reply] == correlation { numbers[reply] = nil }
      return reply
    }
  }
#endif
