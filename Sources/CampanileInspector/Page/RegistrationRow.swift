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

    /// The properties by which rows differ, so that no text is made for each of many registrations.
    private struct Key: Hashable {
      let file: String
      let line: Int
      let type: ObjectIdentifier
      let name: String?
      let owner: ObjectIdentifier?
      let delivery: String
      let source: String
    }

    /// The registrations of all followed sources.
    ///
    /// Rows with the most registrations come first.
    static func rows(_ trace: Trace) -> [RegistrationRow] {
      var rows: [Key: RegistrationRow] = [:]
      var mailboxes: [Key: Set<ObjectIdentifier>] = [:]
      // Two sources may have the same ones.
      var known: Set<Registration> = []
      let sources = trace.sources
      for source in sources {
        for registration in source.registrations()
        where sources.count == 1 || known.insert(registration.registration).inserted {
          let key = Key(
            file: registration.file, line: registration.line,
            type: ObjectIdentifier(registration.valueType), name: registration.name,
            owner: registration.ownerType.map { ObjectIdentifier($0) },
            delivery: registration.delivery, source: source.name)
          rows[key, default: RegistrationRow(registration, at: source.name)].add(registration)
          // Observers that share a place wait for the same messages, so these are counted once.
          if let mailbox = registration.sharedTarget?.mailbox,
            mailboxes[key, default: []].insert(ObjectIdentifier(mailbox)).inserted
          {
            rows[key]?.waiting += mailbox.waitingCount
          }
        }
      }
      return rows.values.map { (row: $0, key: $0.key) }.sorted { one, other in
        one.row.count == other.row.count ? one.key < other.key : one.row.count > other.row.count
      }.map(\.row)
    }

    private init(_ registration: RegistrationDescription, at source: String) {
      self.source = source
      type = registration.name ?? "\(registration.valueType)"
      owner = registration.ownerType.map { "\($0)" }
      delivery = registration.delivery
      place = "\(registration.file):\(registration.line)"
    }

    private mutating func add(_ registration: RegistrationDescription) {
      count += 1
      if registration.subject != nil { aboutSubject += 1 }
      waiting += registration.waitingCount
      dropped += registration.droppedCount
      if registration.isPaused { paused += 1 }
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

    /// Marks the rows of such lines, and puts them first.
    func marked(_ rows: [RegistrationRow]) -> [RegistrationRow] {
      var rows = rows
      known.withLock { known in
        let before = known
        known = [:]
        for index in rows.indices {
          let (count, key) = (rows[index].count, rows[index].key)
          let last = before[key]
          let change = count - (last?.count ?? count)
          let growths = change < 0 ? 0 : (last?.growths ?? 0) + (change > 0 ? 1 : 0)
          known[key] = (count, growths)
          rows[index].grows = growths >= Self.growths
        }
      }
      return rows.filter(\.grows) + rows.filter { !$0.grows }
    }
  }
#endif
