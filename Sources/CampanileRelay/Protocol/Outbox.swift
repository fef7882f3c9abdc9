/// The messages of a member itself: those that wait for a hub, and those that were sent.
///
/// About `window` bytes are under way to the hub. The rest waits in the log, which is bounded. What is
/// under way is kept beside it, whatever the log forgets, so that it can be sent to the next hub.
struct Outbox {
  private var log: MessageLog
  private(set) var lastNumber: UInt64 = 0
  /// Numbers up to here have been sequenced.
  private(set) var sequencedNumber: UInt64 = 0
  /// Numbers up to here have been sent to the present hub.
  private var sentNumber: UInt64 = 0
  /// The messages that have been sent to a hub and not been sequenced.
  private var underWay = Queue<LogEntry>()
  private var bytesUnderWay = 0
  /// How many of these have been sent to the present hub.
  private var underWayHere = 0
  /// Other frames, each sent after the messages up to a number.
  private var frames = Queue<(after: UInt64, frame: MemberFrame)>()
  /// The flushes that have not been answered: the last message before each, by its token.
  private var flushes: [UInt64: UInt64] = [:]

  private let window: Int

  init(limit: Int) {
    log = MessageLog(limit: limit)
    window = min(1 << 20, limit / 2)
  }

  /// Appends a message with the next number.
  mutating func post(_ message: Message, after: Position, _ actions: inout [MemberAction]) {
    lastNumber = message.number
    log.append(LogEntry(message: message, after: after))
    while let forgotten = log.trim(sparing: bytesUnderWay) {
      let number = forgotten.message.number
      guard number > max(sequencedNumber, lastUnderWay) else { continue }
      actions.append(.dropped(number: number, subject: forgotten.message.subject))
    }
  }

  /// Sends a frame after all messages that have been posted.
  mutating func sendInOrder(_ frame: MemberFrame) {
    frames.append((lastNumber, frame))
  }

  /// Takes back requests and flushes that have not been sent, and does not tell the ends of others.
  mutating func forget(_ tokens: Set<UInt64>) {
    for token in tokens { flushes[token] = nil }
    var kept = Queue<(after: UInt64, frame: MemberFrame)>()
    while let next = frames.popFirst() {
      switch next.frame {
      case .request(let request, _) where tokens.contains(request.correlation): break
      case .flush(let token) where tokens.contains(token): break
      default: kept.append(next)
      }
    }
    frames = kept
  }

  mutating func flush(_ token: UInt64) {
    flushes[token] = lastNumber
    sendInOrder(.flush(token: token))
  }

  /// Ends a flush, and returns whether it had not ended before.
  mutating func flushed(_ token: UInt64) -> Bool { flushes.removeValue(forKey: token) != nil }

  /// Whether a hub has to answer something.
  var isWaiting: Bool {
    !underWay.isEmpty || sentNumber < lastNumber || !frames.isEmpty || !flushes.isEmpty
  }

  /// The number of the last message under way, or 0.
  private var lastUnderWay: UInt64 {
    underWay.isEmpty ? 0 : underWay[underWay.count - 1].message.number
  }

  /// Sends what waits, as far as the window allows.
  mutating func send(_ actions: inout [MemberAction]) {
    while true {
      sendFrames(&actions)
      // First what was under way to an earlier hub.
      if underWayHere < underWay.count {
        let entry = underWay[underWayHere]
        underWayHere += 1
        // Numbers between are missing if even their traces were forgotten.
        sentNumber = entry.message.number - 1
        sendFrames(&actions)
        send(entry, &actions)
        continue
      }
      guard sentNumber < lastNumber, bytesUnderWay < window else { return }
      let next = sentNumber + 1
      // The last entry of the log has the last number, and none between is missing.
      let index = log.count - 1 - Int(lastNumber - next)
      guard index >= 0 else {
        sentNumber = next
        continue
      }
      let entry = log[index]
      underWay.append(entry)
      underWayHere += 1
      bytesUnderWay += entry.cost
      send(entry, &actions)
    }
  }

  private mutating func sendFrames(_ actions: inout [MemberAction]) {
    while let next = frames.first, next.after <= sentNumber {
      _ = frames.popFirst()
      actions.append(.send(next.frame))
    }
  }

  private mutating func send(_ entry: LogEntry, _ actions: inout [MemberAction]) {
    let message = entry.message
    sentNumber = message.number
    actions.append(
      .send(
        entry.isForgotten
          ? .forgotten(number: message.number, subject: message.subject) : .message(message)))
  }

  /// A hub has given positions to messages.
  mutating func sequenced(_ first: UInt64, _ count: UInt32, _ position: Position) {
    // Numbers that were never posted would be a fault of the hub.
    let last = min(first &+ UInt64(count) &- 1, lastNumber)
    guard first >= 1, first <= last else { return }
    var position = position
    for number in first...last {
      let index = log.count - 1 - Int(lastNumber - number)
      if index >= 0 { log.setPosition(position, at: index) } else { log.raiseFloor(to: position) }
      position.sequence &+= 1
    }
    sequencedNumber = max(sequencedNumber, last)
    endUnderWay()
  }

  /// Forgets what is under way and has been sequenced.
  private mutating func endUnderWay() {
    while let oldest = underWay.first, oldest.message.number <= sequencedNumber {
      _ = underWay.popFirst()
      bytesUnderWay -= oldest.cost
      underWayHere = max(0, underWayHere - 1)
    }
  }

  /// A hub has opened: messages above `ownNumber` are sent again.
  mutating func open(ownNumber: UInt64) {
    sequencedNumber = max(sequencedNumber, min(ownNumber, lastNumber))
    sentNumber = sequencedNumber
    underWayHere = 0
    endUnderWay()
  }

  /// Handles the loss of the hub.
  ///
  /// Flushes, and requests that have not been sent, wait for the next one.
  ///
  /// - Returns: The correlations of those requests.
  mutating func close() -> Set<UInt64> {
    var waiting: [(after: UInt64, frame: MemberFrame)] = flushes.sorted { $0.key < $1.key }.map {
      ($0.value, .flush(token: $0.key))
    }
    var correlations: Set<UInt64> = []
    while let next = frames.popFirst() {
      guard case .request(let request, _) = next.frame else { continue }
      correlations.insert(request.correlation)
      waiting.append(next)
    }
    waiting.sort { $0.after < $1.after }
    for next in waiting { frames.append(next) }
    return correlations
  }

  /// Forgets the sequenced messages, because the member has joined another bus.
  mutating func forgetSequenced() {
    let waiting = Int(lastNumber - sequencedNumber)
    log.keepLast(waiting)
    for index in 0..<underWay.count { underWay.update(index) { $0.after = .none } }
  }

  /// The entries after a position, and those without one, in the order of their numbers.
  func entries(since position: Position) -> [LogEntry] {
    let entries = log.entries(since: position)
    let (known, last) = (sequencedNumber, max(sequencedNumber, lastUnderWay))
    return entries.filter { $0.message.number <= known }
      + (0..<underWay.count).map { underWay[$0] }
      + entries.filter { $0.message.number > last }
  }

  /// The highest position of which no trace is left.
  var floor: Position { log.floor }
}
