import Testing

@testable import CampanileRelay

final class HubStateTests {
  private var hub = HubState(generation: 2, busID: 7, own: 1, expected: [])

  private func actions(
    _ body: (inout HubState, inout [HubAction]) -> Void
  ) -> [HubAction] {
    CampanileRelayTests.actions(of: &hub, body)
  }

  private func receive(_ id: Int, _ frames: MemberFrame...) -> [HubAction] {
    actions { hub, actions in
      for frame in frames { hub.received(frame, from: ConnectionID(rawValue: id), &actions) }
    }
  }

  private func join(
    _ id: Int, at position: Position = .none, stable: Position = .none,
    recoveries: [Recovery] = [], subscriptions: [String] = [">"]
  ) -> [HubAction] {
    hub.connected(ConnectionID(rawValue: id))
    var hello = MemberFrame.Hello(
      MemberID(rawValue: UInt64(id)), at: position, subscriptions: subscriptions)
    (hello.stable, hello.recoveries) = (stable, recoveries)
    return receive(id, .hello(hello))
  }

  private func send(_ id: Int, _ frame: HubFrame) -> HubAction {
    .send([ConnectionID(rawValue: id)], frame)
  }

  private let none = Recovery(generation: 2, since: .none, last: .none)

  private func peer(_ id: UInt64) -> Peer {
    Peer(id: MemberID(rawValue: id), name: "\(id)", processID: 1)
  }

  @Test func opensWithItsOwnMember() {
    #expect(
      join(1) == [
        send(1, .welcome(generation: 2, busID: 7)),
        send(1, .open(position: at(2, 0), ownNumber: 0, none)), .opened,
        send(1, .peers([peer(1)], hub: 1)),
      ])
    #expect(
      join(2) == [
        send(2, .welcome(generation: 2, busID: 7)),
        send(2, .open(position: at(2, 0), ownNumber: 0, none)),
        send(2, .peers([peer(1), peer(2)], hub: 1)), send(1, .joined(peer(2))),
      ])
  }

  @Test("A hub asks nobody whether they are there once nothing has happened for a second")
  func needsTicks() {
    #expect(hub.needsTicks)
    for id in 1...2 { _ = join(id) }
    _ = receive(2, .answer("time"))
    func rest() -> Int {
      var count = 0
      while hub.needsTicks, count < 100 {
        _ = actions { $0.tick(&$1) }
        for id in 1...2 { _ = receive(id, .pong(hub.last)) }
        count += 1
      }
      return count
    }
    #expect(rest() == 10)
    for frame in [.message(Message(1, 1)), .flush(token: 1), .ping] as [MemberFrame] {
      _ = receive(1, frame)
      #expect(rest() == 10)
    }
    // What is open is asked about for as long as it is.
    let request = Request(correlation: 4, from: 1, subject: "time", version: 0, payload: [])
    _ = receive(1, .request(request, deadline: 3_000))
    #expect(rest() == 32)
    #expect(
      receive(2, .ping) == [send(2, .ping(at(2, 1), settled: at(2, 1), stable: at(2, 1)))])
  }

  @Test("600 members that come and go cost less than 20 MB in all")
  func trafficOfPeers() {
    var bytes = 0
    func count(_ actions: [HubAction]) {
      for case .send(let connections, let frame) in actions {
        var encoded: [UInt8] = []
        frame.append(to: &encoded)
        bytes += connections.count * encoded.count
      }
    }
    for id in 1...600 { count(join(id)) }
    for id in 2...600 {
      count(actions { $0.disconnected(ConnectionID(rawValue: id), &$1) })
    }
    #expect((1...20_000_000).contains(bytes))
  }

  @Test("Who comes and goes is told once to each, however many there are")
  func changesOfPeers() {
    for id in 1...3 { _ = join(id) }
    // For the third one, much waits: it gets the newest list after that.
    _ = actions { $0.waiting(Outgoing.window, on: ConnectionID(rawValue: 3), &$1) }
    _ = receive(1, .message(Message(1, 1)))
    let joined = join(4)
    #expect(joined.suffix(2) == [send(1, .joined(peer(4))), send(2, .joined(peer(4)))])
    let left = actions { $0.disconnected(ConnectionID(rawValue: 2), &$1) }
    #expect(left == [send(1, .left(2)), send(4, .left(2))])
    #expect(
      actions { $0.waiting(0, on: ConnectionID(rawValue: 3), &$1) } == [
        send(3, .message(Message(1, 1, at: at(2, 1)))),
        send(3, .peers([peer(1), peer(3), peer(4)], hub: 1)),
      ])
  }

  @Test func waitsForExpectedMembers() {
    hub = HubState(generation: 2, busID: 7, own: 1, expected: [2, 3, 4])
    _ = join(1)
    _ = join(2)
    #expect(!hub.isOpen)
    #expect(actions { $0.died(3, &$1) } == [])
    #expect(actions { $0.died(4, &$1) }.contains(.opened))
  }

  @Test func asksFirstWhoIsPresent() {
    for id in 1...3 { _ = join(id) }
    for id in 1...3 { _ = receive(id, .answer("time")) }
    func asked(_ correlation: UInt64) -> [HubAction] {
      let request = Request(
        correlation: correlation, from: 1, subject: "time", version: 0, payload: [])
      let actions = receive(1, .request(request, deadline: 1_000))
      return actions.filter {
        if case .send(_, .request) = $0 { true } else { false }
      }
    }
    func request(_ correlation: UInt64) -> HubFrame {
      .request(
        Request(correlation: correlation, from: 1, subject: "time", version: 0, payload: []))
    }
    #expect(asked(1) == [send(2, request(1))])
    // The second one says nothing for half a second.
    for _ in 1...5 {
      _ = actions { $0.tick(&$1) }
      for id in [1, 3] { _ = receive(id, .pong(.none)) }
    }
    #expect(asked(2) == [send(3, request(2))])
    _ = receive(3, .stopAnswering("time"))
    #expect(asked(3) == [send(2, request(3))])
    _ = receive(2, .stopAnswering("time"))
    #expect(asked(4) == [send(1, request(4))])
  }

  @Test("A request goes on to the next member if the first one does not answer any more")
  func asksTheNext() {
    for id in 1...3 { _ = join(id) }
    for id in 2...3 { _ = receive(id, .answer("time")) }
    let request = Request(correlation: 4, from: 1, subject: "time", version: 0, payload: [5])
    #expect(receive(1, .request(request, deadline: 1_000)) == [send(2, .request(request))])
    let refusal = MemberFrame.reply(to: 1, correlation: 4, status: .nobodyAnswers, payload: [])
    #expect(receive(2, refusal) == [send(3, .request(request))])
    #expect(receive(2, refusal) == [])
    #expect(
      receive(3, refusal) == [send(1, .reply(correlation: 4, status: .nobodyAnswers, payload: []))])
  }

  @Test("A hub keeps a request's payload only for another member, and nothing of one that has left")
  func keepsNoPayload() {
    for id in 1...2 { _ = join(id) }
    _ = receive(2, .answer("time"))
    let request = Request(correlation: 4, from: 1, subject: "time", version: 0, payload: [5])
    #expect(receive(1, .request(request, deadline: 1_000)) == [send(2, .request(request))])
    #expect(hub.members[1].asked.map(\.request.payload) == [[]])
    let refusal = MemberFrame.reply(to: 1, correlation: 4, status: .nobodyAnswers, payload: [])
    #expect(
      receive(2, refusal) == [send(1, .reply(correlation: 4, status: .nobodyAnswers, payload: []))])
    _ = receive(1, .request(request, deadline: 1_000))
    _ = actions { $0.disconnected(ConnectionID(rawValue: 1), &$1) }
    #expect(hub.members[0].asked.isEmpty)
  }

  @Test("R6 A request that nobody waits for any more does not wait for a process that is stopped")
  func forgetsRequests() {
    for id in 1...2 { _ = join(id) }
    _ = receive(2, .answer("time"))
    _ = actions { $0.waiting(Outgoing.window, on: ConnectionID(rawValue: 2), &$1) }
    func request(_ correlation: UInt64) -> Request {
      Request(correlation: correlation, from: 1, subject: "time", version: 0, payload: [])
    }
    for number in 1...3 as ClosedRange<UInt64> {
      let message = Message(1, number)
      _ = receive(1, .request(request(number), deadline: number == 2 ? 1_000 : 0))
      _ = receive(1, .message(message))
    }
    _ = actions { for _ in 1...2 { $0.tick(&$1) } }
    #expect(
      actions { $0.waiting(0, on: ConnectionID(rawValue: 2), &$1) } == [
        send(2, .message(Message(1, 1, at: at(2, 1)))), send(2, .request(request(2))),
        send(2, .message(Message(1, 2, at: at(2, 2)))),
        send(2, .message(Message(1, 3, at: at(2, 3)))),
      ])
  }

  @Test("R6 A request whose process has left does not wait for a process that is stopped")
  func forgetsRequestsOfWhoLeft() {
    for id in 1...3 { _ = join(id) }
    _ = receive(2, .answer("time"))
    _ = actions { $0.waiting(Outgoing.window, on: ConnectionID(rawValue: 2), &$1) }
    for id in [1, 3] as [MemberID] {
      let request = Request(correlation: 1, from: id, subject: "time", version: 0, payload: [])
      _ = receive(Int(id.rawValue), .request(request, deadline: 10_000))
    }
    _ = actions { $0.disconnected(ConnectionID(rawValue: 3), &$1) }
    let sent = actions { $0.waiting(0, on: ConnectionID(rawValue: 2), &$1) }
    let asking = sent.compactMap { action -> MemberID? in
      guard case .send(_, .request(let request)) = action else { return nil }
      return request.from
    }
    #expect(asking == [1])
  }

  @Test("A reply is passed on until the deadline of its request")
  func untilDeadline() {
    for id in 1...2 { _ = join(id) }
    _ = receive(2, .answer("time"))
    let request = Request(correlation: 4, from: 1, subject: "time", version: 0, payload: [5])
    _ = receive(1, .request(request, deadline: 10_000))
    for _ in 1...90 {
      _ = actions { $0.tick(&$1) }
      for id in 1...2 { _ = receive(id, .pong(.none)) }
    }
    #expect(
      receive(2, .reply(to: 1, correlation: 4, status: .answered, payload: [])) == [
        send(1, .reply(correlation: 4, status: .answered, payload: []))
      ])
  }

  @Test func opensAfterFiveTicks() {
    hub = HubState(generation: 2, busID: 7, own: 1, expected: [2])
    _ = join(1)
    #expect(!actions { for _ in 1...4 { $0.tick(&$1) } }.contains(.opened))
    #expect(actions { $0.tick(&$1) }.contains(.opened))
  }

  @Test("R4 A hub waits for as long as it is told, for members that come and for their logs")
  func waitsLonger() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [2, 3], patience: 10)
    let ticks = { (count: Int) in
      self.actions { hub, actions in for _ in 0..<count { hub.tick(&actions) } }
    }
    _ = join(1, at: at(2, 5))
    _ = join(2, at: at(2, 5))
    #expect(!ticks(9).contains(send(1, .collect(token: 1, since: .none))))
    #expect(ticks(1).contains(send(1, .collect(token: 1, since: .none))))
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    _ = ticks(4)
    _ = receive(2, .pong(at(2, 5)))
    // One of which nothing has been read for half a second is waited for, too.
    #expect(!ticks(9).contains(.opened))
    #expect(ticks(1).contains(.opened))
  }

  @Test func passesMessagesOnAndBatchesPositions() {
    _ = join(1, subscriptions: ["a"])
    _ = join(2)
    _ = join(3, subscriptions: ["b"])
    let sent = receive(2, .message(Message(2, 1)), .message(Message(2, 2)))
    #expect(
      sent == [
        send(1, .message(Message(2, 1, at: at(2, 1)))),
        send(1, .message(Message(2, 2, at: at(2, 2)))),
      ])
    #expect(
      actions { $0.endRead(of: ConnectionID(rawValue: 2), &$1) } == [
        send(2, .sequenced(sender: 2, first: 1, count: 2, position: at(2, 1)))
      ])
    #expect(actions { $0.endRead(of: ConnectionID(rawValue: 2), &$1) } == [])
    // A number that is known is not passed on again.
    #expect(
      receive(2, .message(Message(2, 2))) == [
        send(2, .sequenced(sender: 2, first: 2, count: 1, position: .none))
      ])
  }

  @Test func oneFrameForManyReceivers() {
    for id in 1...3 { _ = join(id) }
    let message = Message(1, 1, at: at(2, 1))
    let both = [2, 3].map { ConnectionID(rawValue: $0) }
    #expect(receive(1, .message(Message(1, 1))) == [.send(both, .message(message))])
    _ = receive(3, .unsubscribe(">"))
    let next = Message(1, 2, at: at(2, 2))
    #expect(receive(1, .message(Message(1, 2))) == [send(2, .message(next))])
    _ = receive(3, .subscribe("a"))
    let last = Message(1, 3, at: at(2, 3))
    #expect(receive(1, .message(Message(1, 3))) == [.send(both, .message(last))])
  }

  @Test func closesWhoBreaksTheRules() {
    _ = join(1)
    _ = join(2)
    #expect(receive(1, .subscribe("a..b")).contains { $0.closes(1) })
    #expect(receive(2, .message(Message(3, 1))).contains { $0.closes(2) })
    _ = join(3)
    #expect(receive(3, .hello(MemberFrame.Hello(3))).contains { $0.closes(3) })
    hub.connected(ConnectionID(rawValue: 4))
    #expect(receive(4, .message(Message(4, 1))).contains { $0.closes(4) })
    hub.connected(ConnectionID(rawValue: 5))
    var hello = MemberFrame.Hello(5)
    hello.peer.name = String(repeating: "n", count: 1_025)
    #expect(receive(5, .hello(hello)).contains { $0.closes(5) })
  }

  @Test("A connection on which nobody says hello for five seconds is closed, and no other one")
  func closesWhoSaysNothing() {
    _ = join(1)
    for id in [2, 3] { hub.connected(ConnectionID(rawValue: id)) }
    _ = join(4)
    #expect(!actions { for _ in 1...49 { $0.tick(&$1) } }.contains { $0.closes(2) })
    // What else comes is no hello.
    _ = receive(2, .pong(at(2, 0)))
    let last = actions { $0.tick(&$1) }
    let closed = (1...4).filter { id in last.contains { $0.closes(id) } }
    #expect(closed == [2, 3])
  }

  @Test func flushWaitsForAcknowledgements() {
    for id in 1...3 { _ = join(id) }
    for id in 1...3 { _ = receive(id, .pong(at(2, 0))) }
    #expect(receive(1, .flush(token: 5)) == [send(1, .flushed(token: 5))])
    _ = receive(1, .message(Message(1, 1)))
    _ = actions { $0.endRead(of: ConnectionID(rawValue: 1), &$1) }
    #expect(receive(1, .flush(token: 6)) == [])
    #expect(receive(2, .pong(at(2, 0))) == [])
    #expect(receive(2, .pong(at(2, 1))) == [])
    #expect(receive(3, .pong(at(2, 1))) == [send(1, .flushed(token: 6))])
  }

  @Test func flushDoesNotWaitForWhoLeavesOrIsSilent() {
    for id in 1...3 { _ = join(id) }
    #expect(receive(1, .flush(token: 5)) == [])
    _ = actions { $0.disconnected(ConnectionID(rawValue: 2), &$1) }
    #expect(!actions { for _ in 1...4 { $0.tick(&$1) } }.contains(send(1, .flushed(token: 5))))
    #expect(actions { $0.tick(&$1) }.contains(send(1, .flushed(token: 5))))
  }

  @Test("The hub's own flush waits until replies are written, for as long as it waits for a member")
  func flushWaitsForReplies() {
    for id in 1...3 { _ = join(id) }
    for id in 1...3 { _ = receive(id, .pong(at(2, 0))) }
    _ = receive(1, .answer("time"))
    let request = Request(correlation: 4, from: 2, subject: "time", version: 0, payload: [])
    func reply() {
      _ = receive(2, .request(request, deadline: 1_000))
      let payload = [UInt8](repeating: 0, count: 2 * Outgoing.window)
      _ = receive(1, .reply(to: 2, correlation: 4, status: .answered, payload: payload))
      _ = actions { $0.waiting(payload.count, on: ConnectionID(rawValue: 2), &$1) }
    }
    reply()
    #expect(receive(3, .flush(token: 5)) == [send(3, .flushed(token: 5))])
    #expect(receive(1, .flush(token: 6)) == [])
    #expect(actions { $0.waiting(1, on: ConnectionID(rawValue: 2), &$1) } == [])
    #expect(
      actions { $0.waiting(0, on: ConnectionID(rawValue: 2), &$1) } == [send(1, .flushed(token: 6))]
    )
    reply()
    #expect(receive(1, .flush(token: 7)) == [])
    let ticks = actions { hub, actions in
      for _ in 1...5 {
        hub.received(.pong(at(2, 0)), from: ConnectionID(rawValue: 2), &actions)
        hub.tick(&actions)
      }
    }
    #expect(ticks.contains(send(1, .flushed(token: 7))))
  }

  @Test("R1 R10 A flush waits for who runs again, until it has what it missed")
  func flushWaitsForRepairs() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [])
    _ = join(1, at: at(2, 5))
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    _ = join(2, at: at(2, 4))
    _ = receive(1, .message(Message(1, 8)))
    #expect(receive(1, .flush(token: 6)) == [])
    let opened = receive(2, .collectedAll(token: 2, floor: .none))
    #expect(opened.contains(send(2, .message(Message(1, 8, at: at(3, 1))))))
    #expect(!opened.contains(send(1, .flushed(token: 6))))
    #expect(receive(2, .pong(at(3, 1))).contains(send(1, .flushed(token: 6))))
    // One that stops meanwhile is not waited for.
    _ = join(3, at: at(2, 4))
    #expect(receive(1, .flush(token: 7)) == [])
    #expect(
      actions { for _ in 1...5 { $0.tick(&$1) } }.contains(send(1, .flushed(token: 7))))
  }

  @Test func requestsFindWhoAnswers() {
    for id in 1...3 { _ = join(id) }
    let request = Request(correlation: 1, from: 1, subject: "q", version: 0, payload: [])
    #expect(
      receive(1, .request(request, deadline: 100)) == [
        send(1, .reply(correlation: 1, status: .nobodyAnswers, payload: []))
      ])
    _ = receive(1, .answer("q"))
    _ = receive(3, .answer("q"))
    #expect(receive(1, .request(request, deadline: 100)) == [send(3, .request(request))])
    let reply = MemberFrame.reply(to: 1, correlation: 1, status: .answered, payload: [4])
    #expect(receive(2, reply) == [])
    #expect(receive(3, reply) == [send(1, .reply(correlation: 1, status: .answered, payload: [4]))])
    #expect(receive(3, reply) == [])
    _ = receive(1, .request(request, deadline: 100))
    #expect(
      actions { $0.disconnected(ConnectionID(rawValue: 3), &$1) }.first
        == send(1, .reply(correlation: 1, status: .disconnected, payload: [])))
  }

  @Test("R4 A member that connects again while the hub recovers is repaired before it is open")
  func connectsAgain() {
    hub = HubState(generation: 2, busID: 7, own: 1, expected: [2])
    _ = join(1, at: at(1, 1))
    _ = join(2, at: at(1, 3))
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    // The end of its first connection lets the hub open.
    hub.connected(ConnectionID(rawValue: 3))
    let again = receive(3, .hello(MemberFrame.Hello(2, at: at(1, 3))))
    #expect(again.contains(.opened) && again.contains { $0.closes(2) })
    #expect(again.contains(send(3, .collect(token: 2, since: at(1, 1)))))
    func opens(_ actions: [HubAction]) -> Bool {
      actions.contains {
        if case .send([ConnectionID(rawValue: 3)], .open) = $0 { true } else { false }
      }
    }
    #expect(!opens(again))
    let heard = Message(3, 4, at: at(1, 3))
    _ = receive(3, .collected(LogEntry(message: heard)))
    #expect(opens(receive(3, .collectedAll(token: 2, floor: .none))))
  }

  @Test func recoversWhatAnyMemberHas() {
    hub = HubState(generation: 2, busID: 7, own: 1, expected: [2])
    _ = join(1, at: at(1, 1))
    #expect(
      join(2, at: at(1, 3)) == [
        send(2, .welcome(generation: 2, busID: 7)),
        send(1, .collect(token: 1, since: at(1, 1))), send(2, .collect(token: 1, since: at(1, 1))),
      ])
    // The second member heard a message of the dead third; its own one has no position yet.
    let heard = Message(3, 4, at: at(1, 3), payload: [3])
    let own = Message(2, 1)
    let recovery = Recovery(generation: 2, since: at(1, 1), last: at(1, 3))
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    _ = receive(2, .collected(LogEntry(message: own, after: at(1, 2))))
    _ = receive(2, .collected(LogEntry(message: heard)))
    var sequenced = own
    sequenced.position = at(2, 1)
    #expect(
      receive(2, .collectedAll(token: 1, floor: .none)) == [
        send(1, .message(sequenced)), send(1, .message(heard)),
        send(2, .sequenced(sender: 2, first: 1, count: 1, position: at(2, 1))),
        send(1, .open(position: at(2, 1), ownNumber: 0, recovery)),
        send(2, .open(position: at(2, 1), ownNumber: 1, recovery)), .opened,
        send(1, .peers([peer(1), peer(2)], hub: 1)), send(2, .peers([peer(1), peer(2)], hub: 1)),
      ])
  }

  @Test("R4 What the others have, a member gets that was missing when the hub was chosen")
  func repairsALateMember() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [2])
    _ = join(1, at: at(2, 5))
    // It is not known what the second member lacks.
    #expect(
      actions { for _ in 1...5 { $0.tick(&$1) } }.contains(
        send(1, .collect(token: 1, since: .none))))
    let missing = Message(5, 1, at: at(2, 5))
    _ = receive(1, .collected(LogEntry(message: missing)))
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    _ = receive(1, .message(Message(1, 8)))
    #expect(
      join(2, at: at(2, 4)) == [
        send(2, .welcome(generation: 3, busID: 7)),
        send(2, .collect(token: 2, since: at(2, 4))),
      ])
    // The first member had a message that the second lacks; the second one has one that only it knows.
    let recovery = Recovery(generation: 3, since: at(2, 5), last: at(2, 5))
    _ = receive(2, .collected(LogEntry(message: Message(4, 2, at: at(2, 6)))))
    #expect(
      receive(2, .collectedAll(token: 2, floor: .none)).dropLast(2) == [
        send(1, .message(Message(4, 2, at: at(3, 2)))),
        send(2, .sequenced(sender: 4, first: 2, count: 1, position: at(3, 2))),
        send(2, .message(missing)), send(2, .message(Message(1, 8, at: at(3, 1)))),
        send(2, .open(position: at(3, 2), ownNumber: 0, recovery)),
      ])
    #expect(hub.members.allSatisfy { $0.collected.isEmpty && $0.given.isEmpty })
  }

  @Test("R4 A hub that a member is missing at asks for what that one is not known to have")
  func asksForWhatIsNotStable() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [2], silent: 3)
    let question = send(1, .collect(token: 1, since: at(2, 3)))
    #expect(!join(1, at: at(2, 5), stable: at(2, 2)).contains(question))
    #expect(join(2, at: at(2, 5), stable: at(2, 3)).contains(question))
    for id in 1...2 { _ = receive(id, .collectedAll(token: 1, floor: .none)) }
    // The member that is missing may lack what follows, whatever the others say.
    _ = receive(1, .message(Message(1, 1)))
    for id in 1...2 { _ = receive(id, .pong(hub.last)) }
    #expect(hub.stable == at(2, 3))
    _ = join(3, at: at(2, 4))
    #expect(hub.stable == at(2, 3))
    _ = receive(3, .collectedAll(token: 2, floor: .none))
    #expect(hub.stable == .none)
    _ = receive(3, .pong(at(2, 4)))
    #expect(hub.stable == at(2, 4))
    _ = receive(3, .pong(hub.last))
    #expect(hub.stable == hub.last)
  }

  @Test("R4 R7 What only one of two missing members has, the other one gets, or a report")
  func missesTogether() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [2], silent: 3)
    _ = join(1, at: at(2, 9), stable: at(2, 3))
    _ = actions { for _ in 1...5 { $0.tick(&$1) } }
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    #expect(
      join(2, at: at(2, 9), stable: at(2, 3)).last
        == send(2, .collect(token: 2, since: at(2, 3))))
    let message = Message(4, 1, at: at(2, 4))
    _ = receive(2, .collected(LogEntry(message: message)))
    _ = receive(2, .collectedAll(token: 2, floor: .none))
    _ = join(3, at: at(2, 3), stable: at(2, 3))
    #expect(receive(3, .collectedAll(token: 3, floor: .none)).contains(send(3, .message(message))))
  }

  @Test("R7 What the others have forgotten is not stable while one is missing")
  func forgottenIsNotStable() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [], silent: 3)
    _ = join(1, at: at(2, 50), stable: at(2, 3))
    _ = receive(1, .collectedAll(token: 1, floor: at(2, 40)))
    _ = receive(1, .pong(hub.last))
    #expect(hub.stable == at(2, 3))
  }

  @Test("R7 What the first of two missing members has is not stable before the other one has it")
  func firstOfTwoMissing() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [2], silent: 3)
    _ = join(1)
    _ = actions { for _ in 1...5 { $0.tick(&$1) } }
    #expect(
      join(2, at: at(2, 9), stable: at(2, 4)).last
        == send(2, .collect(token: 2, since: at(2, 4))))
    _ = receive(2, .collectedAll(token: 2, floor: .none))
    for id in 1...2 { _ = receive(id, .pong(hub.last)) }
    #expect(hub.stable == at(2, 4))
  }

  @Test("R7 What a late member had forgotten is reported to the next one that lacks it")
  func forgottenByALateMember() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [2], silent: 3)
    _ = join(1, at: at(2, 60))
    _ = actions { for _ in 1...5 { $0.tick(&$1) } }
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    _ = join(3, at: at(2, 60))
    _ = receive(3, .collectedAll(token: 2, floor: at(2, 40)))
    _ = join(2, at: at(2, 20))
    let sent = receive(2, .collectedAll(token: 3, floor: .none))
    #expect(sent.first == send(2, .lost([.unknown(before: at(2, 40))])))
  }

  @Test("R7 Of two accounts of one recovery, the hub keeps the later one")
  func laterRecovery() {
    hub = HubState(generation: 4, busID: 7, own: 1, expected: [])
    for (id, last) in [1: at(2, 9), 2: .none].sorted(by: { $0.key < $1.key }) {
      let recovery = Recovery(generation: 3, since: last, last: last)
      _ = join(id, at: at(3, 5), recoveries: [recovery])
    }
    #expect(hub.recoveries[3]?.last == at(2, 9))
  }

  @Test("R7 What came before the hub's log is reported to a member that nobody expected")
  func saysThatItsLogBeginsLater() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [])
    _ = join(1, at: at(2, 5))
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    let lost = HubFrame.lost([.unknown(before: at(2, 5))])
    #expect(join(2, at: at(2, 4)).last == send(2, .collect(token: 2, since: at(2, 4))))
    #expect(receive(2, .collectedAll(token: 2, floor: .none)).first == send(2, lost))
    _ = join(3, at: at(2, 5))
    #expect(!receive(3, .collectedAll(token: 3, floor: .none)).contains(send(3, lost)))
  }

  @Test("R7 What the members had forgotten is reported to a member that was missing")
  func saysWhatTheOthersHaveForgotten() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [2])
    _ = join(1, at: at(2, 5))
    _ = actions { for _ in 1...5 { $0.tick(&$1) } }
    _ = receive(1, .collectedAll(token: 1, floor: at(2, 3)))
    _ = join(2, at: at(2, 2))
    let sent = receive(2, .collectedAll(token: 2, floor: .none))
    #expect(sent.first == send(2, .lost([.unknown(before: at(2, 3))])))
  }

  @Test("R7 What only another missing member may have is reported to one that is behind")
  func saysWhatOthersMayHave() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [2], silent: 3)
    _ = join(1, at: at(2, 5))
    _ = actions { for _ in 1...5 { $0.tick(&$1) } }
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    let lost = HubFrame.lost([.unknown(before: at(2, 5))])
    _ = join(2, at: at(2, 4))
    #expect(receive(2, .collectedAll(token: 2, floor: .none)).first == send(2, lost))
    _ = join(3, at: at(2, 5))
    #expect(!receive(3, .collectedAll(token: 3, floor: .none)).contains(send(3, lost)))
  }

  @Test("R7 What a member may have that sends no log in time is reported to one that is behind")
  func saysWhatASilentLogMayHave() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [2], silent: 3)
    _ = join(1, at: at(2, 5))
    _ = join(2, at: at(2, 5))
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    let asked = actions { for _ in 1...5 { $0.tick(&$1) } }
    #expect(asked.contains(send(2, .collect(token: 2, since: .none))))
    _ = join(3, at: at(2, 4))
    let lost = HubFrame.lost([.unknown(before: at(2, 5))])
    #expect(receive(3, .collectedAll(token: 3, floor: .none)).first == send(3, lost))
  }

  @Test("A late member that says nothing keeps nobody waiting")
  func waitsForNobodyWhoIsLate() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [])
    _ = join(1, at: at(2, 5))
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    let opened = HubFrame.open(
      position: at(3, 0), ownNumber: 0, Recovery(generation: 3, since: at(2, 5), last: at(2, 5)))
    for id in 2...3 {
      #expect(join(id, at: at(2, 5)).last == send(id, .collect(token: UInt64(id), since: at(2, 5))))
    }
    #expect(receive(3, .collectedAll(token: 3, floor: .none)).contains(send(3, opened)))
    #expect(receive(2, .collectedAll(token: 2, floor: .none)).contains(send(2, opened)))
  }

  @Test("R7 What the hub has forgotten is counted for a member that was stopped")
  func countsWhatItHasForgotten() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [], logLimit: 200)
    _ = join(1, at: at(2, 5))
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    _ = receive(1, .message(Message(1, 1, subject: "alert")))
    for number in 2...6 as ClosedRange<UInt64> {
      let payload = [UInt8](repeating: 0, count: 100)
      _ = receive(1, .message(Message(1, number, subject: "other", payload: payload)))
    }
    func losses(_ id: Int, _ subject: String) -> [Loss] {
      _ = join(id, at: at(2, 5), subscriptions: [subject])
      return receive(id, .collectedAll(token: hub.lastToken, floor: .none)).flatMap {
        action -> [Loss] in
        guard case .send([ConnectionID(rawValue: id)], .lost(let losses)) = action else {
          return []
        }
        return losses
      }
    }
    #expect(losses(2, "alert") == [Loss(Message(1, 1, at: at(3, 1), subject: "alert"))])
    // One that hears of nothing that was forgotten has lost nothing.
    #expect(losses(3, "alarm") == [])
  }

  @Test func tellsALateSenderTheNewPosition() {
    _ = join(1, at: at(1, 5))
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    // The hub of the first generation has sequenced a message after it woke up.
    _ = join(2, at: at(1, 6))
    _ = receive(2, .collected(LogEntry(message: Message(2, 1, at: at(1, 6)))))
    let sent = receive(2, .collectedAll(token: 2, floor: .none))
    #expect(
      sent.prefix(2) == [
        send(1, .message(Message(2, 1, at: at(2, 1)))),
        send(2, .sequenced(sender: 2, first: 1, count: 1, position: at(2, 1))),
      ])
  }

  @Test func tellsTheNewPositionWhenItRecovers() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [2])
    _ = join(1, at: at(1, 6))
    _ = join(2, at: at(2, 1))
    _ = receive(1, .collected(LogEntry(message: Message(4, 1, at: at(1, 6)))))
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    _ = receive(2, .collected(LogEntry(message: Message(4, 1, at: at(2, 1)))))
    let sent = receive(2, .collectedAll(token: 1, floor: .none))
    #expect(
      sent.first == send(1, .sequenced(sender: 4, first: 1, count: 1, position: at(2, 1))))
  }

  @Test func reportsWhatComesTooLate() {
    _ = join(1, at: at(1, 5))
    let known = Message(4, 9, at: at(1, 6))
    _ = receive(
      1, .collected(LogEntry(message: known)), .collectedAll(token: 1, floor: .none))
    _ = join(2, at: at(1, 6))
    let late = Message(4, 8, at: at(1, 6))
    _ = receive(2, .collected(LogEntry(message: late)))
    #expect(
      receive(2, .collectedAll(token: 2, floor: .none)).first
        == send(1, .lost([.unknown(before: at(1, 6))])))
  }

  @Test("R7 What comes too late is reported, however much the hub's log has forgotten")
  func reportsWithAShortLog() {
    hub = HubState(generation: 2, busID: 7, own: 1, expected: [], logLimit: 200)
    _ = join(1, at: at(1, 5), subscriptions: ["a"])
    let known = Message(4, 9, at: at(1, 6))
    _ = receive(
      1, .collected(LogEntry(message: known)), .collectedAll(token: 1, floor: .none))
    let name = String(repeating: "b", count: 60_000)
    func reports(_ id: Int, at position: Position) -> Bool {
      _ = join(id, at: position)
      let late = Message(4, UInt64(9 - id), at: at(1, 6))
      _ = receive(id, .collected(LogEntry(message: late)))
      for number in 1...20 as ClosedRange<UInt64> {
        let message = Message(5, number, at: at(1, 6 + number), subject: name)
        _ = receive(id, .collected(LogEntry(message: message)))
      }
      return receive(id, .collectedAll(token: hub.lastToken, floor: .none))
        .contains(send(1, .lost([.unknown(before: at(1, 6))])))
    }
    // What the member brings makes the log forget.
    #expect(reports(2, at: at(1, 6)))
    #expect(hub.log.floor > .none)
    #expect(reports(3, at: at(1, 6)))
    // A member of the hub's own generation brings nothing that the hub has not had.
    #expect(!reports(4, at: at(2, 1)))
  }

  /// Lets a hub recover a first member, and a second one of the first generation with a message.
  private func recover(
    _ message: Message, with position: Position, floor: Position = .none, has: [Message] = []
  ) -> [HubAction] {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [2])
    let recovery = Recovery(generation: 2, since: at(1, 5), last: at(1, 9))
    _ = join(1, at: position, recoveries: position.generation > 1 ? [recovery] : [])
    _ = join(2, at: at(1, 7))
    for message in has { _ = receive(1, .collected(LogEntry(message: message))) }
    _ = receive(1, .collectedAll(token: 1, floor: floor))
    _ = receive(2, .collected(LogEntry(message: message)))
    return receive(2, .collectedAll(token: 1, floor: .none)).filter {
      switch $0 {
      case .send([ConnectionID(rawValue: 1)], .lost), .send([ConnectionID(rawValue: 1)], .message):
        true
      default: false
      }
    }
  }

  @Test("R7 What was missing when a member's generation was recovered is reported to it")
  func reportsWhatARecoveryLacked() {
    let message = Message(4, 1, at: at(1, 6))
    let lost = [send(1, .lost([.unknown(before: at(1, 6))]))]
    #expect(recover(message, with: at(2, 4)) == lost)
    #expect(recover(message, with: at(2, 4), floor: at(1, 5)) == lost)
    // It may have forgotten that it has had the message.
    #expect(recover(message, with: at(2, 4), floor: at(1, 6)) == [])
    // It was open then.
    #expect(recover(message, with: at(1, 6)) == [])
    // It had all that came before the recovery.
    #expect(recover(Message(4, 1, at: at(1, 5)), with: at(2, 4)) == [])
  }

  @Test(
    "R7 A message before a later one of its sender is reported, but not if it was not asked for")
  func reportsWhatComesBefore() {
    let lost = [send(1, .lost([.unknown(before: at(1, 6))]))]
    let message = Message(4, 1, at: at(1, 6))
    // A hub that did not open has given it the later one.
    #expect(recover(message, with: at(1, 5), has: [Message(4, 2, at: at(1, 7))]) == lost)
    // It was open when both were posted, and has subscribed to the first one since.
    #expect(recover(Message(2, 1), with: at(1, 7), has: [Message(2, 2, at: at(1, 7))]) == [])
    // It was given the later one by a hub that the sender has not come to.
    #expect(
      recover(Message(2, 1), with: at(2, 4), has: [Message(2, 2, at: at(1, 7))])
        == [send(1, .lost([.unknown(before: at(3, 1))]))])
  }

  @Test("R7 What its hubs have not had is reported to a member that was missing twice")
  func reportsToOneThatMissesTwo() {
    hub = HubState(generation: 4, busID: 7, own: 1, expected: [], silent: 2)
    let recoveries = [
      Recovery(generation: 2, since: at(1, 5), last: at(1, 9)),
      Recovery(generation: 3, since: at(1, 5), last: at(2, 4)),
    ]
    _ = join(1, at: at(3, 4), stable: at(1, 5), recoveries: recoveries)
    _ = receive(1, .collected(LogEntry(message: Message(4, 1, at: at(1, 6)))))
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    _ = join(2, at: at(2, 4))
    let sent = receive(2, .collectedAll(token: 2, floor: .none))
    #expect(sent.first == send(2, .lost([.unknown(before: at(1, 6))])))
  }
}

extension HubAction {
  /// Whether a connection is closed.
  fileprivate func closes(_ id: Int) -> Bool {
    if case .close(ConnectionID(rawValue: id), _) = self { true } else { false }
  }
}
