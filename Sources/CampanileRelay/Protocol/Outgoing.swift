/// The frames that wait to be written for one member of a hub.
///
/// Some bytes are passed to the transport. The rest waits here, where messages can be dropped. All
/// other frames are not dropped. Losses are sent in the place of the dropped messages.
///
/// The memory is bounded, however long the member reads nothing: the waiting messages by the policy,
/// and the losses by `lossLimit`.
struct Outgoing {
  private let buffering: RelayBuffering
  /// The bytes that the transport has and could not write yet.
  private var handed = 0
  /// The rest of a gap whose first frames have been handed, last frame first.
  private var lostFrames: [HubFrame] = []
  /// The frames before `rest`, none of which may be dropped.
  private var front = Line()
  private var rest = Line()
  /// The bytes of the messages in `rest` that may be dropped.
  private var bytes = 0
  /// The list of members that is sent in the place of `Item.peers`.
  private var peers: HubFrame?
  /// The bytes of the losses that wait, roughly.
  private var lossBytes = 0
  private let lossLimit: Int

  /// The most bytes that are handed to a transport that does not write.
  static let window = 256 << 10

  /// - Parameter lossLimit: Beyond so many bytes of losses, which are 65,536 with short names, what
  ///   else was lost is not counted.
  init(_ buffering: RelayBuffering, lossLimit: Int = 4 << 20) {
    self.buffering = buffering
    self.lossLimit = lossLimit
  }

  private enum Item {
    case frame(HubFrame)
    case live(Message)
    case gap(Gap)
    case peers
  }

  var isEmpty: Bool { lostFrames.isEmpty && front.isEmpty && rest.isEmpty }

  /// Whether a frame of some bytes may be handed to the transport at once; then it counts as handed.
  mutating func hand(_ size: Int) -> Bool {
    guard isEmpty, handed < Self.window else { return false }
    handed += size
    return true
  }

  /// Keeps a frame that is never dropped.
  mutating func append(_ frame: HubFrame) {
    switch frame {
    case .lost(let losses) where losses.allSatisfy { $0.count > 0 }:
      for loss in losses { rest.add(loss, &lossBytes, lossLimit) }
    case .peers:
      // The newest list counts. A member that has left since is not named any more.
      if peers == nil { rest.append(.peers) }
      peers = frame
    default: rest.append(.frame(frame))
    }
  }

  /// Keeps a message, and drops what is too much.
  mutating func append(_ message: Message) {
    switch buffering.policy {
    case .newest:
      rest.append(.live(message))
      bytes += message.cost
      while bytes > buffering.byteCount { dropOldest() }
    case .oldest:
      if bytes + message.cost > buffering.byteCount {
        rest.add(Loss(message), &lossBytes, lossLimit)
      } else {
        rest.append(.live(message))
        bytes += message.cost
      }
    }
  }

  /// Takes back requests whose members have stopped waiting.
  mutating func forget(_ requests: Set<HubMember.Asked.Key>) {
    front.forget(requests)
    rest.forget(requests)
  }

  private mutating func dropOldest() {
    while let item = rest.popFirst() {
      switch item {
      case .live(let message):
        bytes -= message.cost
        front.add(Loss(message), &lossBytes, lossLimit)
        return
      case .gap(let gap):
        lossBytes -= gap.bytes
        for loss in gap.inOrder { front.add(loss, &lossBytes, lossLimit) }
      case .frame, .peers: front.append(item)
      }
    }
  }

  /// The transport has some bytes that it could not write yet.
  ///
  /// Returns the frames to hand to it.
  mutating func waiting(_ bytes: Int) -> [HubFrame] {
    handed = bytes
    var frames: [HubFrame] = []
    while handed < Self.window, let frame = popFirst() {
      handed += frame.estimatedSize
      frames.append(frame)
    }
    return frames
  }

  private mutating func popFirst() -> HubFrame? {
    if let frame = lostFrames.popLast() { return frame }
    guard let item = front.popFirst() ?? rest.popFirst() else { return nil }
    switch item {
    case .frame(let frame): return frame
    case .live(let message):
      bytes -= message.cost
      return .message(message)
    case .gap(let gap):
      lossBytes -= gap.bytes
      lostFrames = gap.frames.reversed()
      return lostFrames.popLast()
    case .peers: return peers.take()
    }
  }
}

extension Outgoing {
  /// Items in order, of which one gap may take further losses.
  private struct Line {
    private var items = Queue<Item>()
    /// The place of the gap that a loss may be added to.
    private var gap: Int?

    var isEmpty: Bool { items.isEmpty }

    mutating func append(_ item: Item) {
      switch item {
      // A member takes no message after the report of a later loss of the same sender.
      case .live, .frame(.message), .frame(.lost), .frame(.open): gap = nil
      case .frame, .gap, .peers: break
      }
      items.append(item)
    }

    mutating func popFirst() -> Item? {
      guard let item = items.popFirst() else { return nil }
      gap = gap.flatMap { $0 > 0 ? $0 - 1 : nil }
      return item
    }

    mutating func forget(_ requests: Set<HubMember.Asked.Key>) {
      var kept = Self()
      for index in 0..<items.count {
        if case .frame(.request(let request)) = items[index],
          requests.contains(.init(from: request.from, correlation: request.correlation))
        {
          continue
        }
        if index == gap { kept.gap = kept.items.count }
        kept.items.append(items[index])
      }
      self = kept
    }

    /// Counts a loss in the last gap, or in a new one.
    mutating func add(_ loss: Loss, _ bytes: inout Int, _ limit: Int) {
      if gap == nil {
        items.append(.gap(Gap()))
        gap = items.count - 1
      }
      guard let gap else { return }
      items.update(gap) { item in
        guard case .gap(var gap) = item else { return }
        // Released first, so that the dictionary is not copied.
        item = .gap(Gap())
        bytes -= gap.bytes
        gap.add(loss)
        if bytes + gap.bytes > limit { gap.forget() }
        bytes += gap.bytes
        item = .gap(gap)
      }
    }
  }

  /// The losses in one place.
  private struct Gap {
    private struct Subject: Hashable {
      var sender: MemberID
      var subject: String
    }

    private var losses: [Subject: Loss] = [:]
    /// The bytes of the losses, roughly.
    private(set) var bytes = 0
    /// The last position, if there were too many losses to count them.
    private var unknown: Position?

    mutating func add(_ loss: Loss) {
      if let last = unknown {
        unknown = max(last, loss.position)
        return
      }
      let subject = Subject(sender: loss.sender, subject: loss.subject)
      var loss = loss
      if let known = losses[subject] { loss.count += known.count } else { bytes += loss.size }
      losses[subject] = loss
    }

    mutating func forget() {
      unknown = unknown ?? losses.values.map(\.position).max() ?? Position.none
      (losses, bytes) = ([:], 0)
    }

    /// In the order of numbers, because a member takes no loss below one that was reported.
    var inOrder: [Loss] {
      unknown.map { [.unknown(before: $0)] } ?? losses.values.sorted { $0.position < $1.position }
    }

    /// Frames of moderate size.
    var frames: [HubFrame] {
      var (frames, losses, size): ([HubFrame], [Loss], Int) = ([], [], 0)
      for loss in inOrder {
        losses.append(loss)
        size += loss.size
        guard losses.count == 1_000 || size >= Outgoing.window else { continue }
        frames.append(.lost(losses))
        (losses, size) = ([], 0)
      }
      return losses.isEmpty ? frames : frames + [.lost(losses)]
    }
  }
}

extension Loss {
  /// The bytes of the loss, roughly.
  fileprivate var size: Int { 64 + subject.utf8.count }
}

extension HubFrame {
  /// The bytes of the frame, roughly.
  var estimatedSize: Int {
    switch self {
    case .message(let message), .shared(_, let message): message.cost
    case .request(let request): 64 + request.payload.count
    case .reply(_, _, let payload): 64 + payload.count
    case .peers(let peers, _): 64 + 64 * peers.count
    case .lost(let losses): losses.reduce(64) { $0 + $1.size }
    default: 64
    }
  }
}
