#if Page
  import Campanile

  /// The live registrations that have the same place, owner type, value type or name, delivery and
  /// source.
  struct RegistrationRow: Codable, Equatable {
    let source: String
    let type: String
    let owner: String?
    let delivery: String
    let place: String
    var count = 0
    /// The number of them that receive only the messages about one subject.
    var aboutSubject = 0
    /// The number of values that wait in their own buffers, and of messages that wait at shared
    /// places.
    var waiting = 0
    var dropped = 0
    var paused = 0
    /// Whether the number of them has grown again and again, and never fallen.
    var grows = false

    /// The registrations of all followed sources, in no particular order.
    static func rows(_ trace: Trace) -> [RegistrationRow] {
      var rows: [String: RegistrationRow] = [:]
      var mailboxes: [String: Set<ObjectIdentifier>] = [:]
      // Two sources may have the same ones.
      var known: Set<Registration> = []
      for source in trace.sources {
        for registration in source.groups()
        where known.insert(registration.registration).inserted {
          let row = RegistrationRow(registration, at: source.name)
          let key = row.key
          rows[key, default: row].add(registration)
          // Observers that share a place wait for the same messages, so these are counted once.
          if let mailbox = registration.sharedMailbox,
            mailboxes[key, default: []].insert(ObjectIdentifier(mailbox)).inserted
          {
            rows[key]?.waiting += mailbox.waitingCount
          }
        }
      }
      return Array(rows.values)
    }

    private init(_ registration: RegistrationDescription, at source: String) {
      self.source = source
      type = registration.name ?? "\(registration.valueType)"
      owner = registration.ownerType.map { "\($0)" }
      delivery = registration.delivery
      place = "\(registration.file):\(registration.line)"
    }

    private mutating func add(_ registration: RegistrationDescription) {
      count += registration.groupCount
      if registration.subject != nil { aboutSubject += registration.groupCount }
      waiting += registration.waitingCount
      dropped += registration.droppedCount
      if registration.isPaused { paused += registration.groupCount }
    }

    /// The text that identifies the row, in which a search looks.
    var key: String {
      [place, type, delivery, owner ?? "", source].joined(separator: "\n")
    }
  }

  /// Finds the lines that register again and again and end nothing, from one look to the next.
  final class RegistrationGrowth: Sendable {
    /// How often a count must have grown without a fall to be taken for a leak.
    private static let growths = 3
    private let known = Locked<[String: (count: Int, growths: Int)]>([:])

    /// Marks the rows of such lines, and returns the first rows: those, then those of the most
    /// registrations.
    func first(_ limit: Int, of rows: [RegistrationRow]) -> [RegistrationRow] {
      var rows = rows.map { (row: $0, key: $0.key) }
      known.withLock { known in
        let before = known
        known = [:]
        for index in rows.indices {
          let (count, key) = (rows[index].row.count, rows[index].key)
          let last = before[key]
          let change = count - (last?.count ?? count)
          let growths = change < 0 ? 0 : (last?.growths ?? 0) + (change > 0 ? 1 : 0)
          known[key] = (count, growths)
          rows[index].row.grows = growths >= Self.growths
        }
      }
      let sorted = rows.sorted { one, other in
        if one.row.grows != other.row.grows { return one.row.grows }
        let (count, otherCount) = (one.row.count, other.row.count)
        return count == otherCount ? one.key < other.key : count > otherCount
      }
      return sorted.prefix(limit).map(\.row)
    }
  }
#endif
