@testable import CampanileRelay

extension MemberID: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: UInt64) { self.init(rawValue: value) }
}

extension MemberFrame.Interest: ExpressibleByStringLiteral {
  public init(stringLiteral pattern: String) { self.init(pattern: pattern) }
}

/// What a state says is to be done after some calls.
func actions<State, Action>(
  of state: inout State, _ body: (inout State, inout [Action]) -> Void
) -> [Action] {
  var actions: [Action] = []
  body(&state, &actions)
  return actions
}

extension Message {
  /// A message with few words.
  init(
    _ sender: MemberID, _ number: UInt64, at position: Position = .none, subject: String = "a",
    payload: [UInt8] = []
  ) {
    self.init(
      sender: sender, number: number, position: position, subject: subject, version: 0, path: [],
      payload: payload)
  }
}

/// A position with few words.
func at(_ generation: UInt64, _ sequence: UInt64) -> Position {
  Position(generation: generation, sequence: sequence)
}

extension MemberFrame.Hello {
  init(_ id: MemberID, at position: Position = .none, subscriptions: [String] = [">"]) {
    self.init(
      busID: 7, peer: Peer(id: id, name: "\(id.rawValue)", processID: 1), buffering: .newest(),
      position: position, subscriptions: subscriptions.map { .init(pattern: $0) }, answers: [])
  }
}

/// One frame of each kind at least, with empty, short and long fields.
enum Samples {
  static let message = Message(
    sender: 0x0102_0304_0506_0708, number: .max, position: at(3, 1 << 40), subject: "tür.öffnen",
    version: 9, path: [1, .max], payload: Array(0...255))
  static let peer = Peer(id: 5, name: "screen", processID: -1)
  static let request = Request(
    correlation: 8, from: 9, subject: "a.b", version: 2, payload: [1, 2, 3])

  static let ofMembers: [MemberFrame] = [
    .hello(
      MemberFrame.Hello(
        busID: 11, peer: peer, buffering: RelayBuffering(.oldest, 1_000), position: at(1, 2),
        recoveries: [Recovery(generation: 1, since: .none, last: at(0, 2))],
        subscriptions: ["a.>", "b"], answers: ["c"])),
    .hello(MemberFrame.Hello(1)), .subscribe("a.*"), .unsubscribe(""), .answer(">"),
    .stopAnswering("x"), .message(message), .message(Message(1, 1)),
    .request(request, deadline: 1_000),
    .reply(to: 3, correlation: 4, status: .failed, payload: [9]),
    .collected(LogEntry(message: message, after: at(2, 2))),
    .collected(LogEntry(message: Message(1, 2), isForgotten: true)),
    .collectedAll(token: 3, floor: at(1, 9)), .flush(token: 2), .pong(at(4, 4)),
    .subscribe(.init(pattern: "a", group: "g")), .unsubscribe(.init(pattern: "a", group: "g")),
    .given(.init(group: "g", key: message.key, isTaken: false)),
    .taken(.init(group: "", key: message.key, isTaken: true)),
  ]

  static let ofHubs: [HubFrame] = [
    .welcome(generation: 2, busID: .max), .collect(token: 1, since: at(0, 1)), .message(message),
    .message(Message(1, 1)),
    .lost([
      Loss(sender: 2, subject: "b", count: 3, number: 9, position: at(1, 1)),
      .unknown(before: at(2, 1)),
    ]),
    .lost([]),
    .open(
      position: at(5, 0), ownNumber: 17, Recovery(generation: 5, since: at(3, 1), last: at(4, 2))),
    .sequenced(sender: 1, first: 2, count: 3, position: at(4, 5)), .request(request),
    .reply(correlation: 1, status: .nobodyAnswers, payload: []), .peers([peer, peer], hub: 5),
    .peers([], hub: 0), .flushed(token: 1), .ping(.none),
    .ping(at(1, 3), settled: at(1, 2), stable: at(1, 1)), .shared(group: "g", message), .unheard(3),
    .taken(group: "g", .init(sender: 1, number: 2), at(1, 2)),
    .dropped(subject: "a"), .joined(peer), .left(5),
  ]

  static func bytes(of frames: [some WireFrame]) -> [UInt8] {
    var bytes: [UInt8] = []
    for frame in frames { frame.append(to: &bytes) }
    return bytes
  }
}
