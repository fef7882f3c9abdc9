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

    /// The registrations of all followed sources.
    ///
    /// Rows with the most registrations come first.
    static func rows(_ trace: Trace) -> [RegistrationRow] {
      var rows: [String: RegistrationRow] = [:]
      var mailboxes: [String: Set<ObjectIdentifier>] = [:]
      // Two sources may have the same ones.
      var known: Set<Registration> = []
      for source in trace.sources {
        for registration in source.registrations()
        where known.insert(registration.registration).inserted {
          let row = RegistrationRow(registration, at: source.name)
          rows[row.key, default: row].add(registration)
          // Observers that share a place wait for the same messages, so these are counted once.
          if let mailbox = registration.sharedTarget?.mailbox,
            mailboxes[row.key, default: []].insert(ObjectIdentifier(mailbox)).inserted
          {
            rows[row.key]?.waiting += mailbox.waitingCount
          }
        }
      }
      return rows.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.map(\.value)
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

    private var key: String {
      [place, type, delivery, owner ?? "", source].joined(separator: "\n")
    }
  }
#endif
