/// The last messages of a member or a hub, from which another member can get what it lacks.
///
/// The log is bounded in bytes, and forgets the oldest messages first. Of these, only the highest
/// position is known.
struct MessageLog {
  private let limit: Int
  private var entries = Queue<LogEntry>()
  private var bytes = 0
  /// The index after the last entry whose position has changed.
  private var resumed = 0

  /// The highest position that has been forgotten.
  private(set) var floor = Position.none

  init(limit: Int) { self.limit = limit }

  var count: Int { entries.count }

  subscript(index: Int) -> LogEntry { entries[index] }

  /// Appends an entry, and forgets the oldest if there are too many.
  mutating func append(_ entry: consuming LogEntry) {
    // Most messages in a row have the same path and subject, which then are in memory once.
    if let last = entries.last?.message {
      if last.path == entry.message.path { entry.message.path = last.path }
      if last.subject == entry.message.subject { entry.message.subject = last.subject }
    }
    bytes += entry.cost
    entries.append(entry)
    // The newest message stays, however large it is.
    while bytes > limit, entries.count > 1, let oldest = entries.popFirst() {
      bytes -= oldest.cost
      floor = max(floor, oldest.message.position)
      resumed = max(0, resumed - 1)
    }
  }

  mutating func removeAll() { self = Self(limit: limit) }

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
      entries.update(index) {
        $0.message.position = Position(generation: position.generation, sequence: sequence)
      }
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
