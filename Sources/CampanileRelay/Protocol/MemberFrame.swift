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
    /// All that groups were to take has been taken up to here.
    var settled = Position.none
    /// Every member has what it subscribes to up to here.
    var stable = Position.none
    /// The last generations that this member was part of.
    var recoveries: [Recovery] = []
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
    case .hello(let hello): Self.append(hello, to: &bytes)
    case .subscribe(let interest): Self.append(type: 2, to: &bytes) { $0.interest(interest) }
    case .unsubscribe(let interest): Self.append(type: 3, to: &bytes) { $0.interest(interest) }
    case .answer(let pattern): Self.append(type: 4, to: &bytes) { $0.string(pattern) }
    case .stopAnswering(let pattern): Self.append(type: 5, to: &bytes) { $0.string(pattern) }
    case .message(let message): Self.append(type: 6, to: &bytes) { $0.message(message) }
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
    case .ping: Self.append(type: 16, to: &bytes) { _ in }
    case .given(let shared): Self.append(type: 14, to: &bytes) { $0.shared(shared) }
    case .taken(let shared): Self.append(type: 15, to: &bytes) { $0.shared(shared) }
    }
  }

  private static func append(_ hello: Hello, to bytes: inout [UInt8]) {
    append(type: 1, to: &bytes) {
      $0.integer(hello.version)
      $0.integer(hello.busID)
      $0.peer(hello.peer)
      $0.integer(hello.buffering.policy.rawValue)
      $0.integer(UInt64(hello.buffering.byteCount))
      $0.position(hello.position)
      $0.array(hello.recoveries) { $0.recovery($1) }
      $0.position(hello.settled)
      $0.position(hello.stable)
      $0.array(hello.subscriptions) { $0.interest($1) }
      $0.array(hello.answers) { $0.string($1) }
    }
  }

  static func read(type: UInt8, _ reader: inout FrameReader) throws(FrameError) -> Self {
    switch type {
    case 1: .hello(try hello(&reader))
    case 2: .subscribe(try reader.interest())
    case 3: .unsubscribe(try reader.interest())
    case 4: .answer(try reader.string())
    case 5: .stopAnswering(try reader.string())
    case 6: .message(try reader.message())
    case 8: .request(try reader.request(), deadline: try reader.integer())
    case 9:
      .reply(
        to: try reader.id(), correlation: try reader.integer(), status: try reader.status(),
        payload: try reader.data())
    case 10: .collected(try entry(&reader))
    case 11: .collectedAll(token: try reader.integer(), floor: try reader.position())
    case 12: .flush(token: try reader.integer())
    case 13: .pong(try reader.position())
    case 14: .given(try reader.shared())
    case 16: .ping
    case 15: .taken(try reader.shared())
    default: throw FrameError("No frame of a member has the type \(type).")
    }
  }

  private static func hello(_ reader: inout FrameReader) throws(FrameError) -> Hello {
    let version = try reader.integer(UInt32.self)
    guard version == protocolVersion else {
      // A hello of any version begins so.
      let who =
        (try? reader.integer(UInt64.self)).flatMap { _ in try? reader.peer() }
        .map { "\($0.name) (process \($0.processID))" } ?? "A member"
      throw FrameError(
        "\(who) speaks version \(version) of the protocol, and this process \(protocolVersion).")
    }
    let busID = try reader.integer(UInt64.self)
    let peer = try reader.peer()
    let policy = try reader.integer(UInt8.self)
    guard let policy = RelayBuffering.Policy(rawValue: policy) else {
      throw FrameError("A member asks for the unknown buffering \(policy).")
    }
    let bytes = Int(clamping: try reader.integer(UInt64.self))
    let position = try reader.position()
    let recoveries = try reader.array(of: 40) { reader throws(FrameError) in
      try reader.recovery()
    }
    return Hello(
      version: version, busID: busID, peer: peer,
      buffering: RelayBuffering(policy, bytes), position: position,
      settled: try reader.position(), stable: try reader.position(), recoveries: recoveries,
      subscriptions: try reader.array(of: 8) { reader throws(FrameError) in
        try reader.interest()
      },
      answers: try reader.strings())
  }

  private static func entry(_ reader: inout FrameReader) throws(FrameError) -> LogEntry {
    let isForgotten = try reader.flag()
    let after = try reader.position()
    return LogEntry(message: try reader.message(), isForgotten: isForgotten, after: after)
  }
}

extension FrameWriter {
  fileprivate mutating func interest(_ value: MemberFrame.Interest) {
    string(value.pattern)
    string(value.group)
  }

  fileprivate mutating func shared(_ value: MemberFrame.Shared) {
    string(value.group)
    id(value.key.sender)
    integer(value.key.number)
    integer(value.isTaken ? 1 : 0 as UInt8)
  }

  mutating func request(_ value: Request) {
    integer(value.correlation)
    id(value.from)
    string(value.subject)
    integer(value.version)
    data(value.payload)
  }
}

extension FrameReader {
  fileprivate mutating func interest() throws(FrameError) -> MemberFrame.Interest {
    MemberFrame.Interest(pattern: try string(), group: try string())
  }

  fileprivate mutating func shared() throws(FrameError) -> MemberFrame.Shared {
    MemberFrame.Shared(
      group: try string(), key: Message.Key(sender: try id(), number: try integer()),
      isTaken: try flag())
  }

  mutating func request() throws(FrameError) -> Request {
    Request(
      correlation: try integer(), from: try id(), subject: try string(), version: try integer(),
      payload: try data())
  }
}
