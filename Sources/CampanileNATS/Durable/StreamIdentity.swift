#if NATS
  /// Which stream and which consumer a receiver hears, by the times at which they were created.
  ///
  /// The times are texts, as the server writes them.
  struct StreamIdentity {
    enum Stream {
      case first, same
      /// The stream has been deleted, and created again since: all that is in it is new.
      case createdAgain
      /// It was there before: the relay has been connected to another cluster.
      case other
    }

    private var stream = ""
    /// When the consumer was created, unless the stream is known to have no such consumer.
    private var consumer: String?
    /// When the stream or the consumer was created, whichever was later.
    private var latest = ""

    /// The stream is located.
    mutating func located(_ created: String) -> Stream {
      if created == stream { return .same }
      let isLater = Self.time(created) > latest
      defer { (stream, consumer, latest) = (created, nil, Self.time(created)) }
      return stream.isEmpty ? .first : isLater ? .createdAgain : .other
    }

    /// The consumer is there.
    ///
    /// - Returns: Whether it has taken the place of one that nobody has said to be deleted.
    mutating func consumerIsThere(_ created: String?) -> Bool {
      defer {
        consumer = created
        latest = max(latest, Self.time(created ?? ""))
      }
      return consumer != nil && consumer != created
    }

    /// The server has said that it deletes the consumer.
    mutating func consumerIsDeleted() { consumer = nil }

    /// A time that can be compared: all are in UTC, and may have fractions of a second before the Z.
    private static func time(_ text: String) -> String { String(text.prefix { $0 != "Z" }) }
  }
#endif
