/// A frame that a hub sends to a member, as the page *The frames of a bus* describes it.
enum HubFrame: Hashable, WireFrame {
  case welcome(generation: UInt64, busID: UInt64)
  case collect(token: UInt64, since: Position)
  case message(Message)
  /// Losses, reported together, whose messages may be interleaved.
  case lost([Loss])
  /// The member may have received later messages.
  case missed(Message)
  /// All messages before `position` have been sent to it. Its messages up to `ownNumber` have been
  /// sequenced.
  case open(position: Position, ownNumber: UInt64, Recovery)
  case sequenced(sender: MemberID, first: UInt64, count: UInt32, position: Position)
  case request(Request)
  case reply(correlation: UInt64, status: AnswerStatus, payload: [UInt8])
  case peers([Peer], hub: MemberID)
  case joined(Peer)
  case left(MemberID)
  case flushed(token: UInt64)
  /// The hub has sent the member everything up to `position`; `none` carries no information.
  ///
  /// All that groups were to take has been taken up to `settled`, and every member, also one that is
  /// missing, has what it subscribes to up to `stable`.
  case ping(Position, settled: Position = .none, stable: Position = .none)
  case shared(group: String, Message)
  case taken(group: String, Message.Key, Position)
  case unheard(UInt32)
  case refused(String)
  case dropped(subject: String)

  func append(to bytes: inout [UInt8]) {
    switch self {
    case .welcome(let generation, let busID):
      Self.append(type: 1, to: &bytes) {
        $0.integer(generation)
        $0.integer(busID)
      }
    case .collect(let token, let since):
      Self.append(type: 2, to: &bytes) {
        $0.integer(token)
        $0.position(since)
      }
    case .message(let message): Self.append(type: 3, to: &bytes) { $0.message(message) }
    case .lost(let losses): Self.append(type: 4, to: &bytes) { $0.array(losses) { $0.loss($1) } }
    case .open(let position, let ownNumber, let recovery):
      Self.append(type: 5, to: &bytes) {
        $0.position(position)
        $0.integer(ownNumber)
        $0.recovery(recovery)
      }
    case .sequenced(let sender, let first, let count, let position):
      Self.append(type: 6, to: &bytes) {
        $0.id(sender)
        $0.integer(first)
        $0.integer(count)
        $0.position(position)
      }
    case .request(let request): Self.append(type: 7, to: &bytes) { $0.request(request) }
    case .reply(let correlation, let status, let payload):
      Self.append(type: 8, to: &bytes) {
        $0.integer(correlation)
        $0.integer(status.rawValue)
        $0.data(payload)
      }
    case .peers(let peers, let hub):
      Self.append(type: 9, to: &bytes) {
        $0.array(peers) { $0.peer($1) }
        $0.id(hub)
      }
    case .joined(let peer): Self.append(type: 17, to: &bytes) { $0.peer(peer) }
    case .left(let id): Self.append(type: 18, to: &bytes) { $0.id(id) }
    case .flushed(let token): Self.append(type: 10, to: &bytes) { $0.integer(token) }
    case .missed(let message): Self.append(type: 12, to: &bytes) { $0.message(message) }
    case .ping(let position, let settled, let stable):
      Self.append(type: 11, to: &bytes) {
        $0.position(position)
        $0.position(settled)
        $0.position(stable)
      }
    case .shared(let group, let message):
      Self.append(type: 13, to: &bytes) {
        $0.string(group)
        $0.message(message)
      }
    case .taken(let group, let key, let position):
      Self.append(type: 19, to: &bytes) {
        $0.string(group)
        $0.id(key.sender)
        $0.integer(key.number)
        $0.position(position)
      }
    case .unheard(let count): Self.append(type: 14, to: &bytes) { $0.integer(count) }
    case .refused(let reason): Self.append(type: 16, to: &bytes) { $0.string(reason) }
    case .dropped(let subject): Self.append(type: 15, to: &bytes) { $0.string(subject) }
    }
  }

  static func read(type: UInt8, _ reader: inout FrameReader) throws(FrameError) -> Self {
    switch type {
    case 1: .welcome(generation: try reader.integer(), busID: try reader.integer())
    case 2: .collect(token: try reader.integer(), since: try reader.position())
    case 3: .message(try reader.message())
    case 4:
      .lost(try reader.array(of: 44) { reader throws(FrameError) in try reader.loss() })
    case 5:
      .open(
        position: try reader.position(), ownNumber: try reader.integer(), try reader.recovery())
    case 6:
      .sequenced(
        sender: try reader.id(), first: try reader.integer(), count: try reader.integer(),
        position: try reader.position())
    case 7: .request(try reader.request())
    case 8:
      .reply(
        correlation: try reader.integer(), status: try reader.status(), payload: try reader.data())
    case 9:
      .peers(
        try reader.array(of: 16) { reader throws(FrameError) in try reader.peer() },
        hub: try reader.id())
    case 10: .flushed(token: try reader.integer())
    case 11:
      .ping(
        try reader.position(), settled: try reader.position(), stable: try reader.position())
    case 12: .missed(try reader.message())
    case 13: .shared(group: try reader.string(), try reader.message())
    case 14: .unheard(try reader.integer())
    case 15: .dropped(subject: try reader.string())
    case 16: .refused(try reader.string())
    case 17: .joined(try reader.peer())
    case 18: .left(try reader.id())
    case 19:
      .taken(
        group: try reader.string(),
        Message.Key(sender: try reader.id(), number: try reader.integer()), try reader.position())
    default: throw FrameError("No frame of a hub has the type \(type).")
    }
  }
}
