#if Page
  import Campanile

  /// The live registrations that agree in where they were made, by whom, of what and for where.
  struct RegistrationRow: Codable, Equatable {
    let source: String
    let type: String
    let owner: String?
    let delivery: String
    let place: String
    var count = 0
    /// How many of them hear the messages about one subject alone.
    var aboutSubject = 0
    /// How many values wait, in buffers of their own or for their target.
    var waiting = 0
    var dropped = 0
    var paused = 0

    /// The registrations of all sources that a trace follows, those that are most first.
    static func rows(_ trace: Trace) -> [RegistrationRow] {
      let pending = trace.storage.current.pendingCounts
      var rows: [RegistrationKey: RegistrationRow] = [:]
      for source in trace.sources {
        for registration in source.registrations {
          let key = RegistrationKey(registration, source.traceName)
          rows[key, default: RegistrationRow(key)].add(registration)
        }
      }
      for key in rows.keys { rows[key]?.waiting += pending[key] ?? 0 }
      let sorted = rows.sorted { one, other in
        (other.value.count, one.key.text) < (one.value.count, other.key.text)
      }
      return sorted.prefix(PageRows.rowLimit).map(\.value)
    }

    private init(_ key: RegistrationKey) {
      source = key.source
      type = key.typeName
      owner = key.ownerName
      delivery = key.delivery
      place = "\(key.file):\(key.line)"
    }

    private mutating func add(_ registration: RegistrationDescription) {
      count += 1
      if registration.subject != nil { aboutSubject += 1 }
      // What waits for a target that is shared is known from the events.
      if registration.delivery == RegistrationKey.sequence { waiting += registration.waitingCount }
      dropped += registration.droppedCount
      if registration.isPaused { paused += 1 }
    }
  }

  /// What the registrations of one row have in common.
  struct RegistrationKey: Hashable {
    /// What descriptions call a registration that feeds a sequence.
    static let sequence = "a sequence"

    let source: String
    let typeName: String
    let ownerName: String?
    let delivery: String
    let file: String
    let line: Int

    init(_ registration: RegistrationDescription, _ sourceName: String) {
      source = sourceName
      typeName = "\(registration.valueType)"
      ownerName = registration.ownerType.map { "\($0)" }
      delivery = registration.delivery
      file = registration.file
      line = registration.line
    }

    fileprivate init(_ record: TraceRecord, _ place: ObserverPlace, _ sourceName: String) {
      source = sourceName
      typeName = "\(record.valueType)"
      ownerName = record.ownerType.map { "\($0)" }
      delivery = place.delivery
      file = place.file
      line = place.line
    }

    var text: String { "\(file):\(line) \(typeName) \(delivery) \(ownerName ?? "") \(source)" }
  }

  extension TraceStorage.State {
    /// How many deliveries are queued and have not come to an end, as far as their events are kept.
    ///
    /// Those to sequences are left out: nothing tells when a value is read.
    fileprivate var pendingCounts: [RegistrationKey: Int] {
      var queued: [DeliveryKey: TraceRecord] = [:]
      var finished: Set<DeliveryKey> = []
      var ended: Set<ObserverKey> = []
      for record in ring {
        switch record.kind {
        case .queued: if let delivery = record.delivery { queued[delivery] = record }
        case .called, .dropped, .skipped:
          if let delivery = record.delivery { finished.insert(delivery) }
        case .ended: if let observer = record.observer { ended.insert(observer) }
        case .posted, .postReturned, .returned, .failed, .registered: break
        }
      }
      var counts: [RegistrationKey: Int] = [:]
      for (delivery, record) in queued
      where !finished.contains(delivery) && !ended.contains(delivery.observer) {
        guard let place = record.place.flatMap({ places[$0] }),
          place.delivery != RegistrationKey.sequence
        else { continue }
        counts[RegistrationKey(record, place, sources[record.source] ?? ""), default: 0] += 1
      }
      return counts
    }
  }
#endif
