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
    /// How many messages the server sends again before newer ones, at the most.
    private(set) var count = 0
    /// How many messages are still to be taken, and how many of those have been asked for.
    private var (rest, open) = (0, 0)

    /// After so many seconds, the server has sent again what nobody has acknowledged.
    private static let time = ConsumerTerms.acknowledgmentWait + 1

    /// Whether it waits, though it may also be asked to hear something else meanwhile.
    var hasBegun: Bool { seconds != nil }
    var isOver: Bool { seconds ?? 0 == 0 }

    /// Messages may be missing.
    mutating func isMissing() { self = Settling() }

    /// Everything is in order.
    mutating func end() {
      self = Settling()
      isDue = false
    }

    /// - Parameters:
    ///   - time: For how many seconds the server may send to nobody.
    ///   - unacknowledged: How many messages it has sent that nobody has acknowledged.
    mutating func begin(after time: Int, unacknowledged: Int) {
      seconds = time + Self.time
      // What it sends to nobody is not known.
      count += time > 0 ? 4 * PullBudget.batch : unacknowledged
      rest = unacknowledged
    }

    /// What is to be sent again at once can be taken.
    ///
    /// - Parameter size: How many messages one pull may bring.
    /// - Returns: How many messages to ask for, if all have come that were asked for.
    mutating func next(atMost size: Int) -> Int? {
      if open > 0 || rest == 0 { return nil }
      open = min(rest, size)
      rest -= open
      return open
    }

    /// What has arrived is not heard, and arrives again.
    ///
    /// - Parameter again: Whether it has been sent before, so that it is among the unacknowledged.
    mutating func arrived(again: Bool) {
      if !again { count += 1 }
      open = max(0, open - 1)
      seconds = seconds.map { max($0, Self.time) }
    }

    /// One second has passed.
    mutating func tick() { seconds = seconds.map { max(0, $0 - 1) } }
  }
#endif
