#if NATS
  /// The messages that a receiver with a name has heard, and those that it has not acknowledged yet.
  struct NamedDeliveries {
    /// The messages that were heard and that can arrive again.
    private var heard: Set<UInt64> = []
    /// Those whose observers have not all been called: where they are acknowledged, by number.
    private var unfinished: [UInt64: String] = [:]
    /// Where messages are acknowledged that nobody here is to hear.
    private var unwanted: Set<String> = []

    /// Where to say that messages are still being delivered.
    var open: [String] { unfinished.values.sorted() }

    /// Handles a message that has arrived.
    ///
    /// - Parameter isWanted: Whether anybody here subscribes to it.
    mutating func hear(_ place: StreamPlace, isWanted: Bool) -> DurableState.News {
      // The server has lost patience, or the consumer: it is acknowledged in its time.
      if unfinished[place.streamSequence] != nil { return .none }
      let isNew = heard.insert(place.streamSequence).inserted
      // So many are remembered as can be sent again, and more.
      if heard.count > 16 * PullBudget.batch {
        heard = Set(heard.sorted().suffix(8 * PullBudget.batch))
      }
      guard isNew && isWanted else {
        unwanted.insert(place.acknowledgment)
        return .unwanted(acknowledgment: place.acknowledgment)
      }
      unfinished[place.streamSequence] = place.acknowledgment
      return .new(acknowledgment: place.acknowledgment)
    }

    /// A message has been delivered to all who observe it, or is not to be heard.
    ///
    /// - Returns: Whether to acknowledge it. In another stream of the name, another message may have
    ///   its number.
    mutating func finished(_ acknowledgment: String) -> Bool {
      if unwanted.remove(acknowledgment) != nil { return true }
      guard let place = StreamPlace(acknowledgment),
        unfinished[place.streamSequence] == acknowledgment
      else { return false }
      unfinished[place.streamSequence] = nil
      return true
    }

    /// A stream that has lost its end uses these numbers again.
    mutating func streamEnds(at last: UInt64) {
      if heard.contains(where: { $0 > last }) { heard = heard.filter { $0 <= last } }
      unfinished = unfinished.filter { $0.key <= last }
    }
  }
#endif
