/// The last messages of a member or a hub, from which another member can get what it lacks.
///
/// The log is bounded in bytes. The oldest messages are forgotten first, in two steps. After the
/// first step, place, sender, number and subject are left, so that a loss can be counted. These
/// traces are bounded in number and in the bytes of their subjects. Of even older messages, only the
/// highest position is known.
struct MessageLog {
  private let limit: Int
  private let traceLimit: Int
  private let subjectLimit: Int
  private var entries = Queue<LogEntry>()
  /// Entries whose payload has been forgotten, all older than `entries`.
  private var traces = Queue<LogEntry>()
  private var bytes = 0
  /// The bytes of the subjects of the traces.
  private var subjectBytes = 0
  /// The index after the last entry whose position has changed.
  private var resumed = 0

  /// The highest position of which no trace is left.
  private(set) var floor = Position.none

  init(limit: Int, traceLimit: Int = 8_192, subjectLimit: Int = 1 << 20) {
    self.limit = limit
    self.traceLimit = traceLimit
    self.subjectLimit = subjectLimit
  }

  var count: Int { traces.count + entries.count }

  subscript(index: Int) -> LogEntry {
    index < traces.count ? traces[index] : entries[index - traces.count]
  }

  /// Appends an entry.
  ///
  /// Call `trim` afterwards until it returns nil.
  mutating func append(_ entry: consuming LogEntry) {
    // Most messages in a row have the same path and subject, which then are in memory once.
    if let last = entries.last?.message {
      if last.path == entry.message.path { entry.message.path = last.path }
      if last.subject == entry.message.subject { entry.message.subject = last.subject }
    }
    if entry.isForgotten, entries.isEmpty {
      appendTrace(entry)
    } else {
      bytes += entry.cost
      entries.append(entry)
    }
  }

  /// Forgets the oldest message if the log has too many bytes, and returns it.
  ///
  /// The newest message stays, however large it is.
  ///
  /// - Parameter others: Bytes beside the log that the limit is for, too.
  mutating func trim(beside others: Int = 0) -> LogEntry? {
    guard bytes + others > limit, entries.count > 1, let oldest = entries.popFirst() else {
      return nil
    }
    bytes -= oldest.cost
    var trace = oldest
    trace.forget()
    appendTrace(trace)
    return oldest
  }

  private mutating func appendTrace(_ entry: LogEntry) {
    traces.append(entry)
    subjectBytes += entry.message.subject.utf8.count
    while traces.count > traceLimit || subjectBytes > subjectLimit,
      let oldest = traces.popFirst()
    {
      subjectBytes -= oldest.message.subject.utf8.count
      floor = max(floor, oldest.message.position)
      resumed = max(0, resumed - 1)
    }
  }

  mutating func removeAll() {
    self = Self(limit: limit, traceLimit: traceLimit, subjectLimit: subjectLimit)
  }

  private mutating func setPosition(_ position: Position, at index: Int) {
    if index < traces.count {
      traces.update(index) { $0.message.position = position }
    } else {
      entries.update(index - traces.count) { $0.message.position = position }
    }
  }

  /// Sets the positions of consecutive messages of a sender, each of which the log has at most once.
  ///
  /// A hub changes many positions, one by one and mostly in the order of the log. So each search
  /// begins after the entry that the last one has found.
  mutating func setPositions(
    ofSender sender: MemberID, first: UInt64, count: UInt32, from position: Position
  ) {
    var rest = count
    for index in [resumed..<self.count, 0..<resumed].joined() {
      guard rest > 0 else { return }
      let message = self[index].message
      guard message.sender == sender, message.number >= first, message.number - first < count
      else { continue }
      let sequence = position.sequence &+ (message.number - first)
      setPosition(Position(generation: position.generation, sequence: sequence), at: index)
      rest -= 1
      resumed = index + 1
    }
  }

  /// The entries after a position, and those without one, in the order of the log.
  func entries(since position: Position) -> [LogEntry] {
    (0..<count).lazy.map { self[$0] }.filter {
      $0.message.position == .none || $0.message.position > position
    }
  }
}
