/// The frames that wait to be written for one member of a hub.
///
/// Some bytes are passed to the transport. The rest waits here, where messages can be dropped. All
/// other frames keep their place and are not dropped. Losses are sent in the place of the dropped
/// messages.
struct Outgoing {
  private let policy: BufferingPolicy
  /// The bytes that the transport has and could not write yet.
  private var handed = 0
  /// The frames before `rest`, none of which may be dropped.
  private var front = Queue<Item>()
  private var rest = Queue<Item>()
  /// The bytes of the messages in `rest` that may be dropped.
  private var bytes = 0

  /// The most bytes that are handed to a transport that does not write.
  static let window = 256 << 10

  private enum Item {
    case frame(HubFrame)
    case live(Message)
    case lost([Subject: Loss])
  }

  private struct Subject: Hashable {
    var sender: MemberID
    var subject: String
  }

  init(_ policy: BufferingPolicy) { self.policy = policy }

  var isEmpty: Bool { front.isEmpty && rest.isEmpty }

  /// Whether a frame of some bytes may be handed to the transport at once; then it counts as handed.
  mutating func hand(_ size: Int) -> Bool {
    guard isEmpty, handed < Self.window else { return false }
    handed += size
    return true
  }

  /// Keeps a frame that is never dropped.
  mutating func append(_ frame: HubFrame) { rest.append(.frame(frame)) }

  /// Keeps a message, and drops what is too much.
  mutating func append(_ message: Message) {
    switch policy.kept {
    case .newest:
      rest.append(.live(message))
      bytes += message.cost
      while bytes > policy.bytes { dropOldest() }
    case .oldest:
      if bytes + message.cost > policy.bytes {
        Self.add(message, toLastOf: &rest)
      } else {
        rest.append(.live(message))
        bytes += message.cost
      }
    }
  }

  private mutating func dropOldest() {
    while let item = rest.popFirst() {
      guard case .live(let message) = item else {
        front.append(item)
        continue
      }
      bytes -= message.cost
      Self.add(message, toLastOf: &front)
      return
    }
  }

  /// Counts a dropped message in the last item of a queue, or in a new one.
  private static func add(_ message: Message, toLastOf queue: inout Queue<Item>) {
    let isLastFull =
      if !queue.isEmpty, case .lost(let last) = queue[queue.count - 1] {
        last.count >= 1_000
      } else {
        true
      }
    if isLastFull { queue.append(.lost([:])) }
    let subject = Subject(sender: message.sender, subject: message.subject)
    queue.update(queue.count - 1) { item in
      guard case .lost(var losses) = item else { return }
      // Released first, so that the dictionary is not copied.
      item = .lost([:])
      var loss = Loss(message)
      loss.count += losses[subject]?.count ?? 0
      losses[subject] = loss
      item = .lost(losses)
    }
  }

  /// The transport has some bytes that it could not write yet.
  ///
  /// Returns the frames to hand to it.
  mutating func waiting(_ bytes: Int) -> [HubFrame] {
    handed = bytes
    var frames: [HubFrame] = []
    while handed < Self.window, let item = front.popFirst() ?? rest.popFirst() {
      switch item {
      case .frame(let frame): frames.append(frame)
      case .live(let message):
        self.bytes -= message.cost
        frames.append(.message(message))
      case .lost(let losses):
        // In the order of numbers: a member takes no loss below what it has heard of.
        frames.append(.lost(losses.values.sorted { $0.position < $1.position }))
      }
      handed += frames.last?.estimatedSize ?? 0
    }
    return frames
  }
}

extension HubFrame {
  /// The bytes of the frame, roughly.
  var estimatedSize: Int {
    switch self {
    case .message(let message): message.cost
    case .request(let request): 64 + request.payload.count
    case .reply(_, _, let payload): 64 + payload.count
    case .peers(let peers, _): 64 + 64 * peers.count
    case .lost(let losses): 64 + 64 * losses.count
    default: 64
    }
  }
}
