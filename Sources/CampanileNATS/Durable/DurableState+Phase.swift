#if NATS
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
