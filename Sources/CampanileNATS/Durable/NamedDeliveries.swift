#if NATS
  /// The messages that a receiver with a name has received, and those not acknowledged yet.
  ///
  /// A new leader of a stream may not have its end at first, or may have lost it, and use the
  /// numbers after that again. The times distinguish these messages from those that are sent again.
  struct NamedDeliveries {
    private struct Message: Hashable {
      let number: UInt64
      let time: UInt64

      init(_ place: StreamPlace) { (number, time) = (place.streamSequence, place.time) }
    }

    // The messages that were received and can arrive again: so many are remembered as can be sent
    // again, and more. The older ones are dropped when the others are full. Their times say nothing
    // here: the clocks of two servers may differ.
    private var recent: Set<Message> = []
    private var older: Set<Message> = []
    /// Those whose observers have not all been called, by number, and where they are acknowledged.
    private var unfinished: [UInt64: (message: Message, acknowledgment: String)] = [:]

    /// Where to say that messages are still being delivered.
    var open: [String] { unfinished.values.map(\.acknowledgment) }

    /// Handles a message that has arrived.
    ///
    /// - Parameter isWanted: Whether it has a subscription here.
    mutating func hear(_ place: StreamPlace, isWanted: Bool) -> DurableState.News {
      let message = Message(place)
      // The server has lost patience, or the consumer: the message is acknowledged once delivered.
      if unfinished[message.number]?.message == message { return .none }
      // The stream has lost that one: acknowledging it would acknowledge this one.
      unfinished[message.number] = nil
      let isNew = recent.insert(message).inserted && !older.contains(message)
      if recent.count > 8 * PullBudget.batch { (older, recent) = (recent, []) }
      guard isNew && isWanted else { return .unwanted(acknowledgment: place.acknowledgment) }
      unfinished[message.number] = (message, place.acknowledgment)
      return .new(acknowledgment: place.acknowledgment)
    }

    /// A message has been delivered to all its observers, or is given back.
    ///
    /// - Parameter isTaken: If not, it is new when it arrives again.
    /// - Returns: Whether to tell the stream. In another stream of the name, another message may have
    ///   its number.
    mutating func finished(_ acknowledgment: String, isTaken: Bool) -> Bool {
      guard let place = StreamPlace(acknowledgment),
        let open = unfinished[place.streamSequence], open.acknowledgment == acknowledgment
      else { return false }
      unfinished[place.streamSequence] = nil
      if !isTaken {
        recent.remove(open.message)
        older.remove(open.message)
      }
      return true
    }
  }
#endif
