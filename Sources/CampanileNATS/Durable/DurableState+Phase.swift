#if NATS
  extension DurableState {
    /// What a receiver does or waits for.
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
      /// Waits until the subscriptions have not changed for a second.
      ///
      /// A consumer with a name doesn't keep messages that it isn't asked for.
      case gathering
      case creatingConsumer
      /// Waits until the server sends unacknowledged messages again, so that newer ones don't
      /// overtake them.
      case settling
      case pulling
    }
  }
#endif
