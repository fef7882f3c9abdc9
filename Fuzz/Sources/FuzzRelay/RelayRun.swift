import FuzzSupport

/// An input as what comes over a socket: frames in any pieces, or frames that a hub or a member takes.
struct RelayRun {
  private var choices: Choices

  init(_ choices: Choices) { self.choices = choices }

  mutating func run() {
    switch choices.pick(4) {
    case 0: parse(MemberFrame.self)
    case 1: parse(HubFrame.self)
    case 2: serve()
    default: join()
    }
  }

  // MARK: Parsing

  /// What is read must not depend on how the bytes are split, and says the same when it is written.
  private mutating func parse<Frame: WireFrame & Equatable>(_ type: Frame.Type) {
    let step = 1 + choices.pick(40)
    let bytes = choices.bytes
    let (whole, reason) = frames(type, bytes, in: max(bytes.count, 1))
    let (split, otherReason) = frames(type, bytes, in: step)
    require(whole == split, "Bytes that are split are read in another way")
    require(reason == otherReason, "\(reason) and \(otherReason)")
    var written: [UInt8] = []
    for frame in whole { frame.append(to: &written) }
    let again = frames(type, written, in: max(written.count, 1))
    require(
      again.frames == whole && again.reason == "", "What is written is read as something else")
  }

  private func frames<Frame: WireFrame>(
    _ type: Frame.Type, _ bytes: [UInt8], in step: Int
  ) -> (frames: [Frame], reason: String) {
    var (parser, frames) = (FrameParser<Frame>(), [Frame]())
    for start in stride(from: 0, to: bytes.count, by: step) {
      parser.append(bytes[start..<min(start + step, bytes.count)])
      do throws(FrameError) {
        while let frame = try parser.next() { frames.append(frame) }
      } catch {
        return (frames, error.message)
      }
    }
    return (frames, "")
  }

  // MARK: States

  /// A hub takes whatever members say, and time goes by.
  private mutating func serve() {
    var hub = HubState(
      generation: 2, busID: 7, own: MemberID(rawValue: 1), expected: [MemberID(rawValue: 2)])
    var actions: [HubAction] = []
    for number in 0..<3 { hub.connected(ConnectionID(rawValue: number)) }
    for number in 0..<3 where choices.flip() {
      hub.received(.hello(hello(number)), from: ConnectionID(rawValue: number), &actions)
    }
    var parser = FrameParser<MemberFrame>()
    parser.append(choices.bytes)
    var turn = 0
    while let frame = (try? parser.next()) ?? nil {
      let connection = ConnectionID(rawValue: turn % 3)
      hub.received(frame, from: connection, &actions)
      if turn % 2 == 0 { hub.endRead(of: connection, &actions) }
      if turn % 5 == 4 { hub.tick(&actions) }
      hub.waiting(turn * 1_000, on: connection, &actions)
      turn += 1
    }
    for _ in 0..<12 { hub.tick(&actions) }
    for number in 0..<3 { hub.disconnected(ConnectionID(rawValue: number), &actions) }
  }

  private mutating func hello(_ number: Int) -> MemberFrame.Hello {
    MemberFrame.Hello(
      busID: choices.flip() ? 7 : 0,
      peer: Peer(id: MemberID(rawValue: UInt64(number + 1)), name: "m", processID: 1),
      buffering: .newest(bytes: 1 << 16),
      position: choices.flip() ? Position(generation: 1, sequence: UInt64(choices.pick(9))) : .none,
      subscriptions: [.init(pattern: "a.>"), .init(pattern: "*", group: "g")], answers: ["q"])
  }

  /// A member takes whatever a hub says, and posts meanwhile.
  private mutating func join() {
    var member = MemberState(id: MemberID(rawValue: 1), name: "m", processID: 1)
    var actions: [MemberAction] = []
    member.post(subject: "a", payload: [1], &actions)
    member.connected(generation: 2, &actions)
    var parser = FrameParser<HubFrame>()
    parser.append(choices.bytes)
    var turn = 0
    while let frame = (try? parser.next()) ?? nil {
      member.received(frame, &actions)
      if turn % 2 == 0 { member.endRead(&actions) }
      if turn % 3 == 0 { member.post(subject: "a", payload: [2], &actions) }
      if turn % 5 == 4 { member.tick(isReading: true, &actions) }
      turn += 1
    }
    member.disconnected(&actions)
    member.connected(generation: 3, &actions)
  }
}

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRelay(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  var run = RelayRun(unsafe Choices(start, count))
  run.run()
  return 0
}
