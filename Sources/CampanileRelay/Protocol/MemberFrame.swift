/// A frame that a member sends to its hub, as the page *The frames of a bus* describes it.
enum MemberFrame: Hashable, WireFrame {
  /// The first frame of a member.
  struct Hello: Hashable, Sendable {
    var version = protocolVersion
    /// The bus whose messages the member knows, or 0.
    var busID: UInt64
    var peer: Peer
    var buffering: RelayBuffering
    /// The member has all that it subscribes to up to here.
    ///
    /// `none` for a member that is new.
    var position: Position
    /// The last generations that this member was part of.
    var recoveries: [Recovery] = []
    /// All that groups were to take has been taken up to here.
    var settled = Position.none
    /// Every member has what it subscribes to up to here.
    var stable = Position.none
    var subscriptions: [Interest]
    var answers: [String]
  }

  /// The messages of a pattern, which the members of a group share if it has a name.
  struct Interest: Hashable, Comparable, Sendable {
    var pattern: String
    var group = ""

    static func < (left: Self, right: Self) -> Bool {
      (left.pattern, left.group) < (right.pattern, right.group)
    }
  }

  /// A member's report about a message that it received as one of a group.
  struct Shared: Hashable, Sendable {
    var group: String
    var key: Message.Key
    /// Whether it has been delivered.
    var isTaken: Bool
  }

  case hello(Hello)
  case subscribe(Interest)
  case unsubscribe(Interest)
  case answer(String)
  case stopAnswering(String)
  case message(Message)
  case request(Request, deadline: UInt32)
  case reply(to: MemberID, correlation: UInt64, status: AnswerStatus, payload: [UInt8])
  case collected(LogEntry)
  case given(Shared)
  case taken(Shared)
  case collectedAll(token: UInt64, floor: Position)
  case flush(token: UInt64)
  case pong(Position)
  case ping

  func append(to bytes: inout [UInt8]) {
    switch self {
    case .hello(let hello): Self.append(1, hello, to: &bytes)
    case .subscribe(let interest): Self.append(2, interest, to: &bytes)
    case .unsubscribe(let interest): Self.append(3, interest, to: &bytes)
    case .answer(let pattern): Self.append(4, pattern, to: &bytes)
    case .stopAnswering(let pattern): Self.append(5, pattern, to: &bytes)
    case .message(let message): Self.append(6, message, to: &bytes)
    case .request(let request, let deadline): Self.append(8, request, deadline, to: &bytes)
    case .reply(let member, let correlation, let status, let payload):
      Self.append(9, to: &bytes) {
        $0.write(member, correlation, status)
        $0.bytes(payload)
      }
    case .collected(let entry): Self.append(10, entry, to: &bytes)
    case .collectedAll(let token, let floor): Self.append(11, token, floor, to: &bytes)
    case .flush(let token): Self.append(12, token, to: &bytes)
    case .pong(let position): Self.append(13, position, to: &bytes)
    case .given(let shared): Self.append(14, shared, to: &bytes)
    case .taken(let shared): Self.append(15, shared, to: &bytes)
    case .ping: Self.append(16, to: &bytes)
    }
  }

  static func read(type: UInt8, _ reader: inout FrameReader) throws(FrameError) -> Self {
    switch type {
    case 1: .hello(try reader.read())
    case 2: .subscribe(try reader.read())
    case 3: .unsubscribe(try reader.read())
    case 4: .answer(try reader.read())
    case 5: .stopAnswering(try reader.read())
    case 6: .message(try reader.read())
    case 8: .request(try reader.read(), deadline: try reader.read())
    case 9:
      .reply(
        to: try reader.read(), correlation: try reader.read(), status: try reader.read(),
        payload: Array(try reader.slice()))
    case 10: .collected(try reader.read())
    case 11: .collectedAll(token: try reader.read(), floor: try reader.read())
    case 12: .flush(token: try reader.read())
    case 13: .pong(try reader.read())
    case 14: .given(try reader.read())
    case 15: .taken(try reader.read())
    case 16: .ping
    default: throw FrameError("No frame of a member has the type \(type).")
    }
  }
}

extension MemberFrame.Hello: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    let version: UInt32 = try reader.read()
    guard version == protocolVersion else {
      // A hello of any version begins so.
      let who =
        (try? reader.integer(UInt64.self)).flatMap { _ in try? Peer(from: &reader) }
        .map { "\($0.name) (process \($0.processID))" } ?? "A member"
      throw FrameError(
        "\(who) speaks version \(version) of the protocol, and this process \(protocolVersion).")
    }
    self.init(
      version: version, busID: try reader.read(), peer: try reader.read(),
      buffering: try reader.read(), position: try reader.read(), recoveries: try reader.read(),
      settled: try reader.read(), stable: try reader.read(), subscriptions: try reader.read(),
      answers: try reader.read())
  }

  func write(to writer: inout FrameWriter) {
    writer.write(version, busID, peer, buffering, position)
    writer.write(recoveries, settled, stable, subscriptions, answers)
  }
}

extension MemberFrame.Interest: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    self.init(pattern: try reader.read(), group: try reader.read())
  }

  func write(to writer: inout FrameWriter) { writer.write(pattern, group) }
}

extension MemberFrame.Shared: WireValue {
  init(from reader: inout FrameReader) throws(FrameError) {
    self.init(group: try reader.read(), key: try reader.read(), isTaken: try reader.read())
  }

  func write(to writer: inout FrameWriter) { writer.write(group, key, isTaken) }
}
