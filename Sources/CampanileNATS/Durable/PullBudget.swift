#if NATS
  /// How much of a stream a receiver asks for at a time, and how much of that has not arrived.
  struct PullBudget {
    /// How many messages a pull asks for: fewer where the server does not permit as many.
    private var size: Int
    /// How many bytes a pull asks for: more where a message has more.
    private var bytes = Self.bytes
    /// How many messages the server may still send.
    private var open = 0
    /// For how many seconds nothing has been heard of them.
    private(set) var silence = 0

    /// How many messages a pull asks for, alone and as one of a group.
    static let (batch, handful) = (500, 16)
    private static let (bytes, mostBytes) = (2 << 20, 1 << 30)

    init(isShared: Bool = false) {
      size = isShared ? Self.handful : Self.batch
    }

    /// Whether so many messages have not arrived yet that no pull is due.
    var isUsedUp: Bool { open > size / 2 }

    /// The next pull, if one is due.
    ///
    /// - Parameter inHand: How many messages are being delivered, which count as not arrived.
    mutating func next(inHand: Int = 0) -> PullRequest? {
      if open + inHand > size / 2 { return nil }
      open += size
      return PullRequest(batch: size, max_bytes: bytes)
    }

    /// A message has arrived.
    mutating func arrived() { open = max(0, open - 1) }

    /// The server has sent something, or says that there is nothing.
    mutating func heard() { silence = 0 }

    /// One second has passed.
    mutating func tick() { silence = open > 0 ? silence + 1 : 0 }

    /// The server sends nothing more of what was asked for.
    mutating func forget() { (open, silence) = (0, 0) }

    /// Pulls have ended.
    ///
    /// - Parameter pending: How many messages the server does not send of those that were asked for;
    ///   `nil` for all.
    mutating func end(pending: UInt64? = nil) {
      open = max(0, open - (pending.map { Int(clamping: $0) } ?? open))
    }

    /// The next message has more bytes than a pull has left.
    ///
    /// - Parameter left: How many the pull has left.
    /// - Returns: Whether a later pull can bring the message.
    mutating func grow(left: UInt64) -> Bool {
      if left < UInt64(bytes) { return true }
      if bytes == Self.mostBytes { return false }
      bytes *= 2
      return true
    }

    /// The server does not permit as many messages.
    ///
    /// Other limits of pulls are settings of a consumer, which end when the consumer is asked for again.
    ///
    /// - Parameter status: What it says.
    /// - Returns: Whether the next pull asks for less.
    mutating func shrink(by status: String) -> Bool {
      guard status.contains("MaxRequestBatch"), size > 1 else { return false }
      (size, open) = (size / 2, 0)
      return true
    }
  }
#endif
