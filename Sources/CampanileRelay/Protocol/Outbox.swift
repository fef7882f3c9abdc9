/// The messages of a member itself: those that wait for a hub, and those that were sent.
///
/// About `window` bytes are under way to the hub, and are kept whole, so that they can be sent to the next
/// hub. What waits is bounded, and so is the log of what has a position, which makes room for what waits.
struct Outbox {
  private enum Item {
    case message(Message)
    case frame(MemberFrame)
  }

  /// The messages that hubs have sequenced.
  private var log: MessageLog
  private(set) var lastNumber: UInt64 = 0
  /// Numbers up to here have been sequenced.
  private var sequencedNumber: UInt64 = 0
  /// The messages that have been sent to a hub and not been sequenced.
  private var underWay = Queue<LogEntry>()
  private var bytesUnderWay = 0
  /// How many of these have been sent to the present hub.
  private var underWayHere = 0
  /// Frames before `waiting`, which are not dropped.
  private var front = Queue<MemberFrame>()
  /// What has not been sent to any hub.
  private var waiting = Queue<Item>()
  /// How many of these are messages, and their bytes.
  private var (waitingCount, waitingBytes) = (0, 0)
  /// The flushes that have not been answered.
  private var flushes: Set<UInt64> = []

  private let limit: Int
  private let window: Int

  init(limit: Int) {
    log = MessageLog(limit: limit)
    self.limit = limit
    window = min(1 << 20, limit / 2)
  }

  /// Whether a hub has to answer something.
  var isWaiting: Bool {
    !underWay.isEmpty || !front.isEmpty || !waiting.isEmpty || !flushes.isEmpty
  }

  // MARK: Keeping

  /// Appends a message with the next number, and drops the oldest that wait if they are too many.
  mutating func post(_ message: Message, _ actions: inout [MemberAction]) {
    lastNumber = message.number
    waiting.append(.message(message))
    waitingCount += 1
    waitingBytes += message.cost
    // The newest stays, however large it is.
    while waitingBytes > limit, waitingCount > 1, let oldest = waiting.popFirst() {
      switch oldest {
      case .frame(let frame): front.append(frame)
      case .message(let message):
        waitingCount -= 1
        waitingBytes -= message.cost
        actions.append(.dropped(number: message.number, subject: message.subject))
      }
    }
    trim()
  }

  /// Sends a frame after all messages that have been posted.
  mutating func sendInOrder(_ frame: MemberFrame) { waiting.append(.frame(frame)) }

  mutating func flush(_ token: UInt64) {
    flushes.insert(token)
    sendInOrder(.flush(token: token))
  }

  /// Ends a flush, and returns whether it had not ended before.
  mutating func flushed(_ token: UInt64) -> Bool { flushes.remove(token) != nil }

  /// Takes back requests and flushes that have not been sent, and does not tell the ends of others.
  mutating func forget(_ tokens: Set<UInt64>) {
    flushes.subtract(tokens)
    keepFrames { frame in
      switch frame {
      case .request(let request, _): !tokens.contains(request.correlation)
      case .flush(let token): !tokens.contains(token)
      default: true
      }
    }
  }

  private mutating func keepFrames(where isKept: (MemberFrame) -> Bool) {
    if front.isEmpty, waiting.count == waitingCount { return }
    var (keptFront, kept) = (Queue<MemberFrame>(), Queue<Item>())
    while let frame = front.popFirst() { if isKept(frame) { keptFront.append(frame) } }
    while let item = waiting.popFirst() {
      if case .frame(let frame) = item, !isKept(frame) { continue }
      kept.append(item)
    }
    (front, waiting) = (keptFront, kept)
  }

  /// The log has room for what the rest leaves of the limit.
  private mutating func trim() { while log.trim(beside: waitingBytes) != nil {} }

  // MARK: Sending

  /// Sends what waits, as far as the window allows.
  ///
  /// - Parameter horizon: The highest position that the member has received.
  mutating func send(after horizon: Position, _ actions: inout [MemberAction]) {
    // First what was under way to an earlier hub.
    while underWayHere < underWay.count {
      actions.append(.send(.message(underWay[underWayHere].message)))
      underWayHere += 1
    }
    while let frame = front.popFirst() { actions.append(.send(frame)) }
    while let next = waiting.first {
      switch next {
      case .frame(let frame): actions.append(.send(frame))
      case .message(let message):
        if bytesUnderWay >= window { return }
        let entry = LogEntry(message: message, after: horizon)
        underWay.append(entry)
        underWayHere += 1
        bytesUnderWay += entry.cost
        waitingCount -= 1
        waitingBytes -= message.cost
        actions.append(.send(.message(message)))
      }
      _ = waiting.popFirst()
    }
  }

  /// A hub has given positions to messages.
  mutating func sequenced(
    by sender: MemberID, _ first: UInt64, _ count: UInt32, _ position: Position
  ) {
    // Numbers that were never posted would be a fault of the hub.
    let last = min(first &+ UInt64(count) &- 1, lastNumber)
    guard first >= 1, first <= last else { return }
    if first <= sequencedNumber {
      // Positions in the place of those that an earlier hub has given.
      log.setPositions(ofSender: sender, first: first, count: count, from: position)
    }
    sequencedNumber = max(sequencedNumber, last)
    endUnderWay { message in
      guard message.number >= first else { return }
      message.position = position
      message.position.sequence &+= message.number - first
    }
  }

  /// A hub has opened: messages above `ownNumber` are sent again.
  mutating func open(ownNumber: UInt64) {
    sequencedNumber = max(sequencedNumber, min(ownNumber, lastNumber))
    endUnderWay { _ in }
    underWayHere = 0
  }

  /// Moves what has been sequenced to the log.
  private mutating func endUnderWay(_ place: (inout Message) -> Void) {
    while var oldest = underWay.first, oldest.message.number <= sequencedNumber {
      _ = underWay.popFirst()
      bytesUnderWay -= oldest.cost
      underWayHere = max(0, underWayHere - 1)
      place(&oldest.message)
      log.append(oldest)
    }
    trim()
  }

  /// Handles the loss of the hub.
  ///
  /// Flushes, and requests that have not been sent, wait for the next one.
  ///
  /// - Returns: The correlations of those requests.
  mutating func close() -> Set<UInt64> {
    var (requests, sent): (Set<UInt64>, Set<UInt64>) = ([], flushes)
    keepFrames { frame in
      switch frame {
      case .request(let request, _): requests.insert(request.correlation)
      case .flush(let token): sent.remove(token)
      // Replies are for members of the hub that is lost.
      default: return false
      }
      return true
    }
    var again = Queue<MemberFrame>()
    for token in sent.sorted() { again.append(.flush(token: token)) }
    while let frame = front.popFirst() { again.append(frame) }
    front = again
    return requests
  }

  // MARK: The log

  /// Forgets the sequenced messages, because the member has joined another bus.
  mutating func forgetSequenced() {
    log.removeAll()
    for index in 0..<underWay.count { underWay.update(index) { $0.after = .none } }
  }

  /// The entries after a position, and those without one, in the order of their numbers.
  func entries(since position: Position) -> [LogEntry] {
    log.entries(since: position) + (0..<underWay.count).map { underWay[$0] }
  }

  /// The highest position of which no trace is left.
  var floor: Position { log.floor }
}
