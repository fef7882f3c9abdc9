#if NATS
  /// The numbers of the messages that a relay sends: from 1 for each subject.
  struct SentNumbers {
    private var last: [String: UInt64] = [:]
    /// Where the counting of a new subject begins.
    private(set) var since: UInt64 = 1
    private var highest: UInt64 = 0
    /// So many subjects are remembered.
    ///
    /// Beyond, all are counted anew, above all numbers before.
    let limit: Int

    init(limit: Int = 65_536) { self.limit = limit }

    mutating func next(_ subject: String) -> (number: UInt64, since: UInt64) {
      if let index = last.index(forKey: subject) {
        last.values[index] += 1
        highest = max(highest, last.values[index])
        return (last.values[index], since)
      }
      if last.count >= limit {
        last = [:]
        since = highest + 1
      }
      last[subject] = since
      highest = max(highest, since)
      return (since, since)
    }
  }

  /// The numbers of the messages that have been heard.
  struct HeardNumbers {
    private struct Key: Hashable {
      let sender: UInt64
      let subject: String
    }

    enum News: Equatable {
      /// It has not been heard; `lost` messages before it have been lost.
      case new(lost: Int)
      case double
    }

    // What has not been heard for long is forgotten: one of the two is dropped when the other one is
    // full. A message after that counts as the first.
    private var recent: [Key: UInt64] = [:]
    private var older: [Key: UInt64] = [:]
    let limit: Int

    init(limit: Int = 65_536) { self.limit = limit }

    /// - Parameters:
    ///   - since: The number from which the sender counts without a gap.
    mutating func hear(
      _ number: UInt64, since: UInt64, from sender: UInt64, _ subject: String
    ) -> News {
      let key = Key(sender: sender, subject: subject)
      let known = recent[key] ?? older[key]
      if let known, number <= known { return .double }
      if recent.count >= limit { (recent, older) = ([:], recent) }
      recent[key] = number
      guard let known, since <= known + 1 else { return .new(lost: 0) }
      return .new(lost: Int(clamping: number - known - 1))
    }

    /// Forgets subjects that are no longer subscribed to; missed messages of these subjects are not
    /// losses.
    mutating func forget(where isForgotten: (String) -> Bool) {
      recent = recent.filter { !isForgotten($0.key.subject) }
      older = older.filter { !isForgotten($0.key.subject) }
    }
  }
#endif
