#if NATS
  /// How long a receiver with a name waits before it hears newer messages.
  ///
  /// The server sends what it has sent to a connection that has ended again. Newer messages must not
  /// overtake that.
  struct Settling {
    /// Whether messages may have been sent and not received.
    private(set) var isDue = true
    /// For how many seconds more it waits, once it has begun to.
    private var seconds: Int?

    /// After so many seconds, the server has sent again what nobody has acknowledged.
    private static let time = ConsumerTerms.acknowledgmentWait + 1

    /// Whether it waits, though it may also be asked to hear something else meanwhile.
    var hasBegun: Bool { seconds != nil }
    var isOver: Bool { seconds ?? 0 == 0 }

    /// Messages may be missing.
    mutating func isMissing() { (isDue, seconds) = (true, nil) }

    /// Everything is in order.
    mutating func end() { (isDue, seconds) = (false, nil) }

    /// - Parameter rest: For how many seconds the server may send to nobody.
    mutating func begin(after rest: Int) { seconds = rest + Self.time }

    /// What has arrived is not heard, and arrives again.
    mutating func arrived() { seconds = max(seconds ?? 0, Self.time) }

    /// One second has passed.
    mutating func tick() { seconds = seconds.map { max(0, $0 - 1) } }
  }
#endif
