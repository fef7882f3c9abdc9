import Testing

@testable import CampanileRelay

final class MemberStateTests {
  private var member = MemberState(id: 1, name: "one", processID: 1, logLimit: 10_000)

  /// The actions of some calls.
  private func actions(
    _ body: (inout MemberState, inout [MemberAction]) -> Void
  ) -> [MemberAction] {
    CampanileRelayTests.actions(of: &member, body)
  }

  private func receive(_ frames: HubFrame...) -> [MemberAction] {
    actions { member, actions in
      for frame in frames { member.received(frame, &actions) }
    }
  }

  private func open(_ generation: UInt64 = 1) {
    _ = actions { $0.connected(generation: generation, &$1) }
    _ = receive(
      .welcome(generation: generation, busID: 7),
      .opened(at(generation, 0), 0))
    _ = actions { $0.endRead(&$1) }
  }

  @Test("R4 A member does not take the hub before for the one that it joins")
  func forgetsTheHubBefore() {
    open(1)
    _ = receive(.peers([], hub: 5))
    #expect(member.hub == 5)
    _ = actions { $0.disconnected(&$1) }
    _ = actions { $0.connected(generation: 2, &$1) }
    #expect(member.hub == nil)
    // A number that no generation follows is not believed.
    _ = receive(.welcome(generation: .max, busID: 7))
    #expect(member.generation == 2)
  }

  @Test("Of members that come together the relay is told once, and before it hears one of them")
  func newPeers() {
    open()
    let peers = (5...7).map { Peer(id: MemberID(rawValue: $0), name: "\($0)", processID: 1) }
    _ = receive(.peers([peers[0]], hub: 5))
    #expect(receive(.joined(peers[1]), .joined(peers[2]), .left(6)) == [])
    let told = MemberAction.peers([peers[0], peers[2]], hub: 5)
    #expect(actions { $0.endRead(&$1) } == [told])
    let message = Message(6, 1, at: at(1, 1))
    #expect(
      receive(.joined(peers[1]), .message(message))
        == [.peers([peers[0], peers[2], peers[1]], hub: 5), .deliver(message)])
    #expect(actions { $0.endRead(&$1) } == [.send(.pong(at(1, 1)))])
  }

  @Test func saysHelloWithItsPatterns() throws {
    let pattern = try SubjectPattern(validating: "a.*")
    #expect(actions { $0.subscribe(pattern, &$1) } == [])
    #expect(actions { $0.answer(pattern, &$1) } == [])
    let hello = MemberFrame.Hello(
      busID: 0, peer: Peer(id: 1, name: "one", processID: 1), buffering: .newest(),
      position: .none, subscriptions: ["a.*"], answers: ["a.*"])
    #expect(actions { $0.connected(generation: 1, &$1) } == [.send(.hello(hello))])
  }

  @Test("However many patterns there are, a hub takes each frame of a member that joins")
  func manyPatterns() throws {
    let texts = (10..<32).map { "\($0)." + String(repeating: "a", count: 100_000) }
    for text in texts {
      let pattern = try SubjectPattern(validating: text)
      _ = actions { $0.subscribe(pattern, &$1) }
      _ = actions { $0.answer(pattern, &$1) }
    }
    var hub = HubState(generation: 1, busID: 7, own: 1, expected: [])
    var parser = FrameParser<MemberFrame>()
    let connection = ConnectionID(rawValue: 1)
    hub.connected(connection)
    for case .send(let frame) in actions({ $0.connected(generation: 1, &$1) }) {
      parser.append(Samples.bytes(of: [frame]))
      var none: [HubAction] = []
      if let frame = try parser.next() { hub.received(frame, from: connection, &none) }
    }
    #expect(hub.members.first?.subscriptions.map(\.text) == texts)
    #expect(hub.members.first?.answers.map(\.text) == texts)
  }

  @Test func tellsTheHubOfPatterns() throws {
    let pattern = try SubjectPattern(validating: "a")
    open()
    #expect(actions { $0.subscribe(pattern, &$1) } == [.send(.subscribe("a"))])
    #expect(actions { $0.subscribe(pattern, &$1) } == [])
    #expect(actions { $0.unsubscribe(pattern, &$1) } == [.send(.unsubscribe("a"))])
    #expect(actions { $0.unsubscribe(pattern, &$1) } == [])
    #expect(actions { $0.answer(pattern, &$1) } == [.send(.answer("a"))])
    #expect(actions { $0.stopAnswering(pattern, &$1) } == [.send(.stopAnswering("a"))])
  }

  @Test func postsWaitUntilItIsOpen() {
    #expect(actions { $0.post(subject: "a", payload: [1], &$1) } == [])
    _ = actions { $0.connected(generation: 1, &$1) }
    #expect(actions { $0.post(subject: "a", payload: [2], &$1) } == [])
    #expect(
      receive(.opened(at(1, 0), 0)) == [
        .opened, .send(.message(Message(1, 1, payload: [1]))),
        .send(.message(Message(1, 2, payload: [2]))),
      ])
    #expect(
      actions { $0.post(subject: "a", payload: [3], &$1) } == [
        .send(.message(Message(1, 3, payload: [3])))
      ])
  }

  @Test func sendsAgainWhatTheNextHubDoesNotKnow() {
    open()
    _ = actions { for _ in 1...4 { $0.post(subject: "a", payload: [], &$1) } }
    _ = receive(.sequenced(sender: 1, first: 1, count: 1, position: at(1, 1)))
    #expect(actions { $0.disconnected(&$1) } == [.closed])
    _ = actions { $0.connected(generation: 2, &$1) }
    #expect(
      receive(.opened(at(2, 1), 2)) == [
        .opened, .send(.message(Message(1, 3))), .send(.message(Message(1, 4))),
      ])
  }

  @Test func deliversOnceAndInOrder() {
    open()
    let first = Message(2, 1, at: at(1, 1))
    let third = Message(2, 3, at: at(1, 2))
    #expect(receive(.message(first), .message(first)) == [.deliver(first)])
    #expect(receive(.message(third)) == [.deliver(third)])
    #expect(receive(.message(Message(2, 2, at: at(1, 3)))) == [])
    #expect(receive(.message(Message(1, 1, at: at(1, 4)))) == [])
    #expect(member.position == at(1, 4))
    #expect(actions { $0.endRead(&$1) } == [.send(.pong(at(1, 4)))])
    #expect(actions { $0.endRead(&$1) } == [])
  }

  @Test func itsPositionStaysWhileItJoins() {
    open()
    _ = receive(.message(Message(2, 1, at: at(1, 1))))
    _ = actions { $0.disconnected(&$1) }
    _ = actions { $0.connected(generation: 2, &$1) }
    let repaired = Message(2, 2, at: at(2, 1))
    #expect(receive(.message(repaired)) == [.deliver(repaired)])
    #expect(member.position == at(1, 1))
    #expect(member.horizon == at(2, 1))
    _ = receive(.opened(at(2, 1), 0))
    #expect(member.position == at(2, 1))
  }

  @Test func sendsItsLogs() {
    open()
    _ = actions { $0.post(subject: "a", payload: [], &$1) }
    _ = receive(
      .sequenced(sender: 1, first: 1, count: 1, position: at(1, 1)),
      .message(Message(2, 1, at: at(1, 2))))
    _ = actions { $0.post(subject: "a", payload: [], &$1) }
    #expect(
      receive(.collect(token: 4, since: at(1, 1))) == [
        .send(.collected(LogEntry(message: Message(1, 2), after: at(1, 2)))),
        .send(.collected(LogEntry(message: Message(2, 1, at: at(1, 2))))),
        .send(.collectedAll(token: 4, floor: .none)),
      ])
  }

  @Test func takesTheNewPositionOfWhatItHad() {
    open()
    _ = receive(.message(Message(2, 1, at: at(1, 1))), .message(Message(2, 2, at: at(1, 2))))
    _ = receive(.sequenced(sender: 2, first: 2, count: 1, position: at(3, 1)))
    let entry = LogEntry(message: Message(2, 2, at: at(3, 1)))
    #expect(
      receive(.collect(token: 1, since: at(2, 0))) == [
        .send(.collected(entry)), .send(.collectedAll(token: 1, floor: .none)),
      ])
  }

  @Test func silenceStartsAGeneration() {
    open(3)
    let ticks = { (member: inout MemberState, actions: inout [MemberAction]) in
      for _ in 1...4 { member.tick(isReading: true, &actions) }
    }
    let pings = [MemberAction](repeating: .send(.ping), count: 3)
    #expect(actions(ticks) == pings)
    _ = receive(.ping(.none))
    #expect(actions(ticks) == pings)
    #expect(actions { $0.tick(isReading: false, &$1) } == [])
    #expect(
      actions { $0.tick(isReading: true, &$1) } == [.send(.ping), .silent(after: 3)])
    #expect(actions { $0.tick(isReading: true, &$1) } == [.send(.ping)])
  }

  @Test("Time matters to a member while it waits for something, and to nobody else")
  func needsTicks() {
    #expect(!member.needsTicks)
    _ = actions { $0.connected(generation: 3, &$1) }
    #expect(member.needsTicks)
    _ = receive(.welcome(generation: 3, busID: 7), .opened(at(3, 0), 0))
    #expect(!member.needsTicks)
    _ = actions { $0.post(subject: "a", payload: [], &$1) }
    #expect(member.needsTicks)
    _ = receive(.sequenced(sender: 1, first: 1, count: 1, position: at(3, 1)))
    #expect(!member.needsTicks)
    _ = actions { $0.flush(1, &$1) }
    #expect(member.needsTicks)
    _ = receive(.flushed(token: 1))
    let request = actions { $0.request(1, subject: "q", payload: [], milliseconds: 1_000, &$1) }
    #expect(request.count == 1 && member.needsTicks)
    _ = receive(.reply(correlation: 1, status: .answered, payload: []))
    #expect(!member.needsTicks)
  }

  @Test("R1 A member does not take over from the hub of its own process, which is busy")
  func ownHubIsBusy() {
    _ = actions { $0.connected(generation: 3, isOwnHub: true, &$1) }
    let silence = actions { member, actions in
      for _ in 1...200 { member.tick(isReading: true, &actions) }
    }
    #expect(silence == [])
  }

  @Test("A member that does not read says that it is there, if it delivers what it has")
  func goesOn() {
    open(3)
    #expect(actions { $0.tick(isReading: false, hasGoneOn: false, &$1) } == [])
    #expect(
      actions { $0.tick(isReading: false, hasGoneOn: true, &$1) } == [.send(.pong(at(3, 0)))])
  }

  @Test func pingMovesThePosition() {
    open()
    _ = receive(.ping(at(1, 8)), .ping(.none))
    #expect(actions { $0.endRead(&$1) } == [.send(.pong(at(1, 8)))])
  }

  @Test func lossesAreToldOnceAndBeforeLaterMessages() {
    open()
    let loss = Loss(sender: 2, subject: "a", count: 3, number: 3, position: at(1, 3))
    #expect(receive(.lost([loss]), .lost([loss])) == [.lost(loss)])
    #expect(receive(.message(Message(2, 3, at: at(1, 3)))) == [])
    #expect(receive(.message(Message(2, 4, at: at(1, 4)))).count == 1)
    #expect(receive(.lost([.unknown(before: at(1, 2))])) == [.lost(.unknown(before: at(1, 2)))])
  }

  @Test("R7 A member lacks nothing that came before it, wherever it goes on")
  func lacksNothingOlder() {
    open(3)
    let older = HubFrame.lost([.unknown(before: at(2, 9))])
    let lost = HubFrame.lost([.unknown(before: at(3, 1))])
    #expect(receive(older, lost) == [.lost(.unknown(before: at(3, 1)))])
    _ = actions { $0.disconnected(&$1) }
    open(4)
    #expect(receive(older, lost) == [.lost(.unknown(before: at(3, 1)))])
  }

  @Test func flushWaitsForPostsAndForTheNextHub() {
    _ = actions { $0.post(subject: "a", payload: [], &$1) }
    #expect(actions { $0.flush(9, &$1) } == [])
    _ = actions { $0.connected(generation: 1, &$1) }
    let sent: [MemberAction] = [
      .opened, .send(.message(Message(1, 1))), .send(.flush(token: 9)),
    ]
    #expect(receive(.opened(at(1, 0), 0)) == sent)
    _ = actions { $0.disconnected(&$1) }
    _ = actions { $0.connected(generation: 2, &$1) }
    #expect(receive(.opened(at(2, 0), 0)) == sent)
    #expect(receive(.flushed(token: 9), .flushed(token: 9)) == [.flushed(token: 9)])
  }

  @Test func windowBoundsWhatIsUnderWay() {
    member = MemberState(id: 1, name: "one", processID: 1)
    open()
    let payload = [UInt8](repeating: 0, count: 300_000)
    let first = actions { for _ in 1...6 { $0.post(subject: "a", payload: payload, &$1) } }
    #expect(first.count == 4)
    #expect(actions { $0.flush(1, &$1) } == [])
    let next = receive(.sequenced(sender: 1, first: 1, count: 3, position: at(1, 1)))
    #expect(next.count == 3)
    #expect(next.last == .send(.flush(token: 1)))
  }

  @Test func dropsTheOldestThatWait() {
    let payload = [UInt8](repeating: 0, count: 4_871)
    let dropped = actions { for _ in 1...3 { $0.post(subject: "a", payload: payload, &$1) } }
    #expect(dropped == [.dropped(number: 1, subject: "a")])
    _ = actions { $0.connected(generation: 1, &$1) }
    let sent = receive(.opened(at(1, 0), 0))
    #expect(sent == [.opened, .send(.message(Message(1, 2, payload: payload)))])
  }

  @Test("A message that is larger than the buffer is sent, and no other one is dropped for it")
  func largeMessage() {
    open()
    let payload = [UInt8](repeating: 0, count: 20_000)
    #expect(
      actions { $0.post(subject: "a", payload: payload, &$1) } == [
        .send(.message(Message(1, 1, payload: payload)))
      ])
    #expect(actions { $0.post(subject: "a", payload: [2], &$1) } == [])
    _ = actions { $0.disconnected(&$1) }
    _ = actions { $0.connected(generation: 2, &$1) }
    _ = receive(.opened(at(2, 0), 0))
    #expect(
      receive(.sequenced(sender: 1, first: 1, count: 1, position: at(2, 1))) == [
        .send(.message(Message(1, 2, payload: [2])))
      ])
  }

  @Test("R4 What is under way when a hub dies is sent to the next one, however small the buffer")
  func smallBuffer() {
    open()
    let payload = [UInt8](repeating: 0, count: 4_000)
    let sent: [MemberAction] = (1...2).map { .send(.message(Message(1, $0, payload: payload))) }
    #expect(actions { for _ in 1...4 { $0.post(subject: "a", payload: payload, &$1) } } == sent)
    _ = actions { $0.disconnected(&$1) }
    #expect(actions { $0.post(subject: "a", payload: [], &$1) } == [])
    _ = actions { $0.connected(generation: 2, &$1) }
    #expect(receive(.opened(at(2, 0), 0)) == [.opened] + sent)
  }

  @Test("R4 What is under way is kept whole, however much more is posted than the buffer holds")
  func fullBuffer() {
    open()
    let payload = [UInt8](repeating: 0, count: 4_000)
    let sent = (1...2).map { Message(1, $0, payload: payload) }
    let all = actions { for _ in 1...9 { $0.post(subject: "a", payload: payload, &$1) } }
    #expect(Array(all[..<2]) == sent.map { .send(.message($0)) })
    #expect(Array(all[2...]) == (3...7).map { .dropped(number: $0, subject: "a") })
    _ = actions { $0.disconnected(&$1) }
    let more = actions { for _ in 1...70_000 { $0.post(subject: "b", payload: [], &$1) } }
    #expect(more.first == .dropped(number: 8, subject: "a"))
    _ = actions { $0.connected(generation: 2, &$1) }
    let collected = receive(.collect(token: 1, since: .none))
    let whole: [MemberAction] = sent.map { .send(.collected(LogEntry(message: $0))) }
    #expect(Array(collected[..<2]) == whole)
    let again = receive(.opened(at(2, 0), 0))
    #expect(Array(again[..<3]) == [.opened] + sent.map { .send(.message($0)) })
    // What the next hub has sequenced makes room for the next ones.
    let next = receive(.sequenced(sender: 1, first: 1, count: 2, position: at(2, 1)))
    #expect(!next.isEmpty)
    _ = actions { $0.disconnected(&$1) }
    _ = actions { $0.connected(generation: 3, &$1) }
    // This hub knows the first of them.
    let last = receive(.opened(at(3, 0), 2))
    #expect(Array(last.dropFirst()) == next)
  }

  @Test func requestsEndOnce() {
    open()
    let request = Request(correlation: 1, from: 1, subject: "a", version: 0, payload: [])
    #expect(
      actions { $0.request(1, subject: "a", payload: [], milliseconds: 100, &$1) } == [
        .send(.request(request, deadline: 100))
      ])
    #expect(
      receive(.reply(correlation: 1, status: .answered, payload: [5])) == [
        .replied(correlation: 1, status: .answered, payload: [5])
      ])
    #expect(receive(.reply(correlation: 1, status: .answered, payload: [5])) == [])
    _ = actions { $0.request(2, subject: "a", payload: [], milliseconds: 100, &$1) }
    #expect(
      actions { $0.disconnected(&$1) } == [
        .replied(correlation: 2, status: .disconnected, payload: []), .closed,
      ])
  }

  @Test func aRequestThatWaitsIsSentToTheNextHub() {
    _ = actions { $0.request(1, subject: "a", payload: [], milliseconds: 1_000, &$1) }
    _ = actions { $0.connected(generation: 1, &$1) }
    #expect(actions { $0.disconnected(&$1) } == [.closed])
    _ = actions { $0.connected(generation: 2, &$1) }
    #expect(receive(.opened(at(2, 0), 0)).count == 2)
  }

  @Test("A request that nobody waits for any more is not sent, and its answer is not told")
  func forgottenRequests() {
    _ = actions { $0.request(1, subject: "a", payload: [], milliseconds: 1_000, &$1) }
    _ = actions { $0.request(2, subject: "b", payload: [], milliseconds: 1_000, &$1) }
    _ = actions { member, _ in member.forget([1, 9]) }
    _ = actions { $0.connected(generation: 1, &$1) }
    let request = Request(correlation: 2, from: 1, subject: "b", version: 0, payload: [])
    #expect(
      receive(.opened(at(1, 0), 0)) == [.opened, .send(.request(request, deadline: 1_000))])
    _ = actions { member, _ in member.forget([2]) }
    #expect(receive(.reply(correlation: 2, status: .answered, payload: [])) == [])
    #expect(actions { $0.disconnected(&$1) } == [.closed])
  }

  @Test("A flush that nobody waits for any more is not sent, and its end is not told")
  func forgottenFlushes() {
    _ = actions { for token in [1, 2, 3] as [UInt64] { $0.flush(token, &$1) } }
    _ = actions { member, _ in member.forget([1, 3, 9]) }
    _ = actions { $0.connected(generation: 1, &$1) }
    #expect(receive(.opened(at(1, 0), 0)) == [.opened, .send(.flush(token: 2))])
    _ = actions { member, _ in member.forget([2]) }
    #expect(receive(.flushed(token: 2)) == [])
    #expect(actions { $0.disconnected(&$1) } == [.closed])
    _ = actions { $0.connected(generation: 2, &$1) }
    #expect(receive(.opened(at(2, 0), 0)) == [.opened])
  }

  @Test("A request that waits while its hub ends is sent to the next one")
  func waitsWhileLeaving() {
    open()
    // More than the half of the log that may be under way.
    let payload = [UInt8](repeating: 0, count: 2_900)
    for _ in 1...3 { _ = actions { $0.post(subject: "a", payload: payload, &$1) } }
    #expect(actions { $0.request(1, subject: "b", payload: [], milliseconds: 9_000, &$1) } == [])
    member.isLeaving = true
    let first = HubFrame.sequenced(sender: 1, first: 1, count: 2, position: at(1, 1))
    #expect(receive(first, .opened(at(1, 2), 2)) == [])
    #expect(actions { $0.disconnected(&$1) } == [.closed])
    _ = actions { $0.connected(generation: 2, &$1) }
    let sent = receive(.opened(at(2, 0), 2))
    #expect(
      sent.contains {
        if case .send(.request) = $0 { true } else { false }
      })
  }

  @Test func anotherBusBeginsAnew() {
    open()
    _ = actions { for _ in 1...2 { $0.post(subject: "a", payload: [], &$1) } }
    _ = receive(
      .message(Message(2, 1, at: at(1, 1))),
      .sequenced(sender: 1, first: 1, count: 1, position: at(1, 2)))
    _ = actions { $0.disconnected(&$1) }
    _ = actions { $0.connected(generation: 1, &$1) }
    _ = receive(.welcome(generation: 1, busID: 8))
    #expect(member.position == .none)
    #expect(
      receive(.opened(at(1, 0), 0)) == [.opened, .send(.message(Message(1, 2)))])
  }
}

extension HubFrame {
  /// Opens a generation without a word of what was recovered.
  static func opened(_ position: Position, _ ownNumber: UInt64) -> Self {
    .open(
      position: position, ownNumber: ownNumber,
      Recovery(generation: position.generation, since: .none, last: .none))
  }
}
