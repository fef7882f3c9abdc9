#if NATS
  import CampanileRelay

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

    /// The subject that was asked for last, and its number, which is not among the others; 0 at
    /// first.
    private var (current, number) = ("", UInt64(0))

    mutating func next(_ subject: String) -> (number: UInt64, since: UInt64) {
      if number == 0 || current != subject { begin(subject) } else { number += 1 }
      return (number, since)
    }

    /// Counts all subjects anew, above all numbers before.
    private mutating func beginAnew() {
      highest = max(highest, number)
      (last, current, number) = ([:], "", 0)
      since = highest + 1
    }

    /// The last number of each subject.
    var all: [String: UInt64] {
      number > 0 ? last.merging([current: number]) { $1 } : last
    }

    @inline(never)
    private mutating func begin(_ subject: String) {
      if number > 0 { last[current] = number }
      if last[subject] == nil, last.count >= limit { beginAnew() }
      highest = max(highest, number)
      (current, number) = (subject, last[subject].map { $0 + 1 } ?? since)
    }
  }

  /// The numbers of the messages that have been received.
  struct HeardNumbers {
    private struct Key: Hashable {
      let sender: UInt64
      let subject: String
    }

    enum News: Equatable {
      /// It is new; `lost` messages before it have been lost, or `nil` if their number is unknown.
      case new(lost: Int?)
      case double
    }

    // Senders that were silent for long are forgotten: one of the two is dropped when the other one is
    // full. A message after that counts as the first.
    private var recent: [Key: UInt64] = [:]
    private var older: [Key: UInt64] = [:]
    /// The numbers up to which losses were counted after the last message that was received.
    private var counted: [Key: UInt64] = [:]
    /// The last sender and its number, which is not among the others; 0 if there is none.
    private var (current, number) = (Key(sender: 0, subject: ""), UInt64(0))
    let limit: Int

    /// How far from the last number the next one may be.
    ///
    /// Any client that may publish a name can invent a number. Beyond these distances, the count
    /// begins anew, so that an invented number neither hides the later messages of its sender, nor
    /// makes a sum of losses overflow. A double is rarely more than some ten thousand numbers below
    /// the last one, because a sender sends again, or a second connection repeats the first one, no
    /// further back.
    private static let (above, below) = (RelayLimits.countedLosses, UInt64(1) << 20)

    init(limit: Int = 65_536) { self.limit = limit }

    /// - Parameters:
    ///   - since: The number from which the sender counts without a gap.
    mutating func hear(
      _ number: UInt64, since: UInt64, from sender: UInt64, _ subject: String
    ) -> News {
      let key = Key(sender: sender, subject: subject)
      if self.number == 0 || current != key { begin(key) }
      let known = self.number
      if number <= known, known - number < Self.below { return .double }
      self.number = number
      if number <= known { return .new(lost: nil) }
      var first = known + 1
      if !counted.isEmpty, let last = counted.removeValue(forKey: key), last < number {
        first = max(first, last + 1)
      }
      guard known > 0, since <= first else { return .new(lost: 0) }
      let lost = number - first
      return .new(lost: lost < Self.above ? Int(lost) : nil)
    }

    /// A sender has sent messages up to a number, all of which would have arrived before.
    ///
    /// - Parameter since: The number from which the sender counts without a gap.
    /// - Returns: How many of them are missing after the last one that was received.
    mutating func hasSent(
      _ number: UInt64, since: UInt64, from sender: UInt64, _ subject: String
    ) -> Int {
      let key = Key(sender: sender, subject: subject)
      storeCurrent()
      guard let known = recent[key] ?? older[key] else { return 0 }
      let last = max(known, counted[key] ?? 0)
      guard number > last, number - last < Self.above, since <= last + 1 else { return 0 }
      counted[key] = number
      return Int(number - last)
    }

    /// Whether any message of a sender has been received.
    func knows(_ sender: UInt64) -> Bool {
      number > 0 && current.sender == sender || recent.keys.contains { $0.sender == sender }
        || older.keys.contains { $0.sender == sender }
    }

    @inline(never)
    private mutating func begin(_ key: Key) {
      storeCurrent()
      (current, number) = (key, recent[key] ?? older[key] ?? 0)
    }

    private mutating func storeCurrent() {
      if number == 0 { return }
      if recent.count >= limit { (recent, older, counted) = ([:], recent, [:]) }
      recent[current] = number
      number = 0
    }

    /// Forgets subjects that are no longer subscribed to; missed messages of these subjects are not
    /// losses.
    mutating func forget(where isForgotten: (String) -> Bool) {
      storeCurrent()
      recent = recent.filter { !isForgotten($0.key.subject) }
      older = older.filter { !isForgotten($0.key.subject) }
      counted = counted.filter { !isForgotten($0.key.subject) }
    }
  }
#endif
