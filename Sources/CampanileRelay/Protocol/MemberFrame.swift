/// A frame that a member sends to its hub.
enum MemberFrame: Hashable, WireFrame {
  /// The first frame of a member.
  struct Hello: Hashable, Sendable {
    var version = protocolVersion
    /// The bus whose messages the member knows, or 0.
    var busID: UInt64
    var peer: Peer
    var buffering: BufferingPolicy
    /// The member has all that it subscribes to up to here.
    ///
    /// `none` for a member that is new.
    var position: Position
    /// The last generations that this member was part of.
    var recoveries: [Recovery] = []
    var subscriptions: [String]
    var answers: [String]
  }

  case hello(Hello)
  case subscribe(String)
  case unsubscribe(String)
  case answer(String)
  case stopAnswering(String)
  /// A message of this member; the position is `none`.
  case message(Message)
  /// A message that was dropped from this member's log before it could be sent.
  case forgotten(number: UInt64, subject: String)
  case request(Request, deadline: UInt32)
  case reply(to: MemberID, correlation: UInt64, status: ReplyStatus, payload: [UInt8])
  case collected(LogEntry)
  /// The end of the answer to `collect`.
  ///
  /// The log has forgotten all traces of messages up to `floor`.
  case collectedAll(token: UInt64, floor: Position)
  case flush(token: UInt64)
  /// The member has received everything up to here.
  case pong(Position)

  func append(to bytes: inout [UInt8]) {
    switch self {
    case .hello(let hello): Self.append(hello, to: &bytes)
    case .subscribe(let pattern): Self.append(type: 2, to: &bytes) { $0.string(pattern) }
    case .unsubscribe(let pattern): Self.append(type: 3, to: &bytes) { $0.string(pattern) }
    case .answer(let pattern): Self.append(type: 4, to: &bytes) { $0.string(pattern) }
    case .stopAnswering(let pattern): Self.append(type: 5, to: &bytes) { $0.string(pattern) }
    case .message(let message): Self.append(type: 6, to: &bytes) { $0.message(message) }
    case .forgotten(let number, let subject):
      Self.append(type: 7, to: &bytes) {
        $0.integer(number)
        $0.string(subject)
      }
    case .request(let request, let deadline):
      Self.append(type: 8, to: &bytes) {
        $0.request(request)
        $0.integer(deadline)
      }
    case .reply(let member, let correlation, let status, let payload):
      Self.append(type: 9, to: &bytes) {
        $0.id(member)
        $0.integer(correlation)
        $0.integer(status.rawValue)
        $0.data(payload)
      }
    case .collected(let entry):
      Self.append(type: 10, to: &bytes) {
        $0.integer(entry.isForgotten ? 1 : 0 as UInt8)
        $0.position(entry.after)
        $0.message(entry.message)
      }
    case .collectedAll(let token, let floor):
      Self.append(type: 11, to: &bytes) {
        $0.integer(token)
        $0.position(floor)
      }
    case .flush(let token): Self.append(type: 12, to: &bytes) { $0.integer(token) }
    case .pong(let position): Self.append(type: 13, to: &bytes) { $0.position(position) }
    }
  }

  private static func append(_ hello: Hello, to bytes: inout [UInt8]) {
    append(type: 1, to: &bytes) {
      $0.integer(hello.version)
      $0.integer(hello.busID)
      $0.peer(hello.peer)
      $0.integer(hello.buffering.kept.rawValue)
      $0.integer(UInt64(hello.buffering.bytes))
      $0.position(hello.position)
      $0.array(hello.recoveries) { $0.recovery($1) }
      $0.array(hello.subscriptions) { $0.string($1) }
      $0.array(hello.answers) { $0.string($1) }
    }
  }

  static func read(type: UInt8, _ reader: inout FrameReader) throws(FrameError) -> Self {
    switch type {
    case 1: .hello(try hello(&reader))
    case 2: .subscribe(try reader.string())
    case 3: .unsubscribe(try reader.string())
    case 4: .answer(try reader.string())
    case 5: .stopAnswering(try reader.string())
    case 6: .message(try reader.message())
    case 7: .forgotten(number: try reader.integer(), subject: try reader.string())
    case 8: .request(try reader.request(), deadline: try reader.integer())
    case 9:
      .reply(
        to: try reader.id(), correlation: try reader.integer(), status: try reader.status(),
        payload: try reader.data())
    case 10: .collected(try entry(&reader))
    case 11: .collectedAll(token: try reader.integer(), floor: try reader.position())
    case 12: .flush(token: try reader.integer())
    case 13: .pong(try reader.position())
    default: throw FrameError("No frame of a member has the type \(type).")
    }
  }

  private static func hello(_ reader: inout FrameReader) throws(FrameError) -> Hello {
    let version = try reader.integer(UInt32.self)
    guard version == protocolVersion else {
      throw FrameError("A member speaks version \(version), this hub \(protocolVersion).")
    }
    let busID = try reader.integer(UInt64.self)
    let peer = try reader.peer()
    let kept = try reader.integer(UInt8.self)
    guard let kept = BufferingPolicy.Kept(rawValue: kept) else {
      throw FrameError("A member asks for the unknown buffering \(kept).")
    }
    let bytes = Int(clamping: try reader.integer(UInt64.self))
    return Hello(
      version: version, busID: busID, peer: peer,
      buffering: BufferingPolicy(kept: kept, bytes: bytes), position: try reader.position(),
      recoveries: try reader.array(of: 40) { reader throws(FrameError) in
        try reader.recovery()
      },
      subscriptions: try reader.strings(), answers: try reader.strings())
  }

  private static func entry(_ reader: inout FrameReader) throws(FrameError) -> LogEntry {
    let isForgotten = try reader.flag()
    let after = try reader.position()
    return LogEntry(message: try reader.message(), isForgotten: isForgotten, after: after)
  }
}

extension FrameWriter {
  mutating func request(_ value: Request) {
    integer(value.correlation)
    id(value.from)
    string(value.subject)
    integer(value.version)
    data(value.payload)
  }
}

extension FrameReader {
  mutating func request() throws(FrameError) -> Request {
    Request(
      correlation: try integer(), from: try id(), subject: try string(), version: try integer(),
      payload: try data())
  }
}
