/// A frame that a hub sends to a member, as the page *The frames of a bus* describes it.
enum HubFrame: Hashable, WireFrame {
  case welcome(generation: UInt64, busID: UInt64)
  case collect(token: UInt64, since: Position)
  case message(Message)
  /// Losses, reported together, whose messages may be interleaved.
  case lost([Loss])
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
  case dropped(subject: String)

  func append(to bytes: inout [UInt8]) {
    switch self {
    case .welcome(let generation, let busID): Self.append(1, generation, busID, to: &bytes)
    case .collect(let token, let since): Self.append(2, token, since, to: &bytes)
    case .message(let message): Self.append(3, message, to: &bytes)
    case .lost(let losses): Self.append(4, losses, to: &bytes)
    case .open(let position, let ownNumber, let recovery):
      Self.append(5, position, ownNumber, recovery, to: &bytes)
    case .sequenced(let sender, let first, let count, let position):
      Self.append(6, sender, first, count, position, to: &bytes)
    case .request(let request): Self.append(7, request, to: &bytes)
    case .reply(let correlation, let status, let payload):
      Self.append(8, to: &bytes) {
        $0.write(correlation, status)
        $0.bytes(payload)
      }
    case .peers(let peers, let hub): Self.append(9, peers, hub, to: &bytes)
    case .flushed(let token): Self.append(10, token, to: &bytes)
    case .ping(let position, let settled, let stable):
      Self.append(11, position, settled, stable, to: &bytes)
    case .shared(let group, let message): Self.append(13, group, message, to: &bytes)
    case .unheard(let count): Self.append(14, count, to: &bytes)
    case .dropped(let subject): Self.append(15, subject, to: &bytes)
    case .joined(let peer): Self.append(17, peer, to: &bytes)
    case .left(let id): Self.append(18, id, to: &bytes)
    case .taken(let group, let key, let position): Self.append(19, group, key, position, to: &bytes)
    }
  }

  static func read(type: UInt8, _ reader: inout FrameReader) throws(FrameError) -> Self {
    switch type {
    case 1: .welcome(generation: try reader.read(), busID: try reader.read())
    case 2: .collect(token: try reader.read(), since: try reader.read())
    case 3: .message(try reader.read())
    case 4: .lost(try reader.read())
    case 5: .open(position: try reader.read(), ownNumber: try reader.read(), try reader.read())
    case 6:
      .sequenced(
        sender: try reader.read(), first: try reader.read(), count: try reader.read(),
        position: try reader.read())
    case 7: .request(try reader.read())
    case 8:
      .reply(
        correlation: try reader.read(), status: try reader.read(),
        payload: Array(try reader.slice()))
    case 9: .peers(try reader.read(), hub: try reader.read())
    case 10: .flushed(token: try reader.read())
    case 11: .ping(try reader.read(), settled: try reader.read(), stable: try reader.read())
    case 13: .shared(group: try reader.read(), try reader.read())
    case 14: .unheard(try reader.read())
    case 15: .dropped(subject: try reader.read())
    case 17: .joined(try reader.read())
    case 18: .left(try reader.read())
    case 19: .taken(group: try reader.read(), try reader.read(), try reader.read())
    default: throw FrameError("No frame of a hub has the type \(type).")
    }
  }
}
