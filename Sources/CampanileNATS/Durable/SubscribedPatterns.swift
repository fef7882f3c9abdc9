#if NATS
  import CampanileRelay

  /// The patterns that a receiver subscribes to, each from a message of the stream on.
  struct SubscribedPatterns {
    /// A pattern, and the message after which its subscription begins.
    private struct Pattern {
      let pattern: SubjectPattern
      /// The last message of the stream when the pattern was added, once that is known.
      var start: UInt64?
    }

    private var patterns: [Pattern] = []

    var isEmpty: Bool { patterns.isEmpty }

    var all: [SubjectPattern] { patterns.map(\.pattern) }

    /// - Parameters:
    ///   - new: All patterns to subscribe to.
    ///   - start: The message after which new ones begin; `nil` for the last one of the stream when
    ///     it is located.
    mutating func replace(with new: [SubjectPattern], startingAfter start: UInt64?) {
      let known = Dictionary(uniqueKeysWithValues: patterns.map { ($0.pattern.text, $0) })
      patterns = new.map { known[$0.text] ?? Pattern(pattern: $0, start: start) }
    }

    /// Another stream has the name: all that is in it came after these patterns.
    mutating func streamIsAnother() {
      for index in patterns.indices where patterns[index].start != nil {
        patterns[index].start = 0
      }
    }

    /// The stream is located.
    ///
    /// If it has lost its end, it uses the numbers after that again.
    mutating func streamEnds(at last: UInt64) {
      for index in patterns.indices {
        patterns[index].start = min(patterns[index].start ?? last, last)
      }
    }

    /// Whether a message has a subscription: the server's filter may be wider, and begin earlier.
    func want(_ subject: String, at place: StreamPlace) -> Bool {
      patterns.contains {
        $0.start ?? .max < place.streamSequence && $0.pattern.matches(subject)
      }
    }
  }
#endif
