import Testing

@testable import CampanileRelay

@Suite("What a hub gives to one of a group")
final class GroupStateTests {
  private var hub = HubState(generation: 2, busID: 7, own: 1, expected: [])

  private func actions(
    _ body: (inout HubState, inout [HubAction]) -> Void
  ) -> [HubAction] {
    CampanileRelayTests.actions(of: &hub, body)
  }

  private func receive(_ id: Int, _ frames: MemberFrame...) -> [HubAction] {
    actions { hub, actions in
      for frame in frames { hub.received(frame, from: ConnectionID(rawValue: id), &actions) }
      hub.endRead(of: ConnectionID(rawValue: id), &actions)
    }
  }

  /// - Parameter group: Whether it is one of the group, or hears nothing.
  @discardableResult
  private func join(
    _ id: Int, in group: Bool = true, at position: Position = .none, settled: Position = .none
  ) -> [HubAction] {
    hub.connected(ConnectionID(rawValue: id))
    var hello = MemberFrame.Hello(
      MemberID(rawValue: UInt64(id)), at: position, subscriptions: [])
    if group { hello.subscriptions = [.init(pattern: "a.*", group: "g")] }
    hello.settled = settled
    return receive(id, .hello(hello))
  }

  /// The numbers of the messages that are given, with the members to whom.
  private func given(_ actions: [HubAction]) -> [[Int]] {
    actions.compactMap { action in
      guard case .send(let to, .shared("g", let message)) = action else { return nil }
      return [to[0].rawValue, Int(message.number)]
    }
  }

  private func unheard(_ actions: [HubAction]) -> UInt32 {
    actions.reduce(0) { count, action in
      guard case .send(_, .unheard(let more)) = action else { return count }
      return count + more
    }
  }

  private func post(_ numbers: ClosedRange<UInt64>, subject: String = "a.b") -> [HubAction] {
    numbers.flatMap { receive(1, .message(Message(1, $0, subject: subject))) }
  }

  private func taken(_ number: UInt64, isTaken: Bool = true) -> MemberFrame {
    .taken(.init(group: "g", key: .init(sender: 1, number: number), isTaken: isTaken))
  }

  @Test("The members get messages in turn, and the one with fewer in hand gets the next")
  func turns() {
    for id in 1...3 { join(id, in: id > 1) }
    #expect(given(post(1...4)) == [[2, 1], [3, 2], [2, 3], [3, 4]])
    #expect(given(receive(3, taken(2), taken(4))) == [])
    #expect(given(post(5...6)) == [[3, 5], [3, 6]])
    // Others hear nothing of it, and the one that posts does not get it.
    #expect(given(post(7...7, subject: "b")) == [])
    #expect(given(receive(2, .message(Message(2, 1, subject: "a.b")))) == [[3, 1]])
  }

  @Test("A member has few in hand, and the rest waits for who has room")
  func handful() {
    for id in 1...2 { join(id, in: id > 1) }
    #expect(given(post(1...20)).map { $0[1] } == Array(1...16))
    #expect(given(receive(2, taken(5))) == [[2, 17]])
    #expect(given(join(3)) == [[3, 18], [3, 19], [3, 20]])
    #expect(hub.settled == at(2, 0))
    for number in 1...20 as ClosedRange<UInt64> {
      _ = receive(number >= 18 ? 3 : 2, taken(number))
    }
    #expect(hub.settled == at(2, 20))
  }

  @Test("What a member has not taken when it leaves is given to another, the oldest first")
  func leaves() {
    for id in 1...2 { join(id, in: id > 1) }
    _ = post(1...18)
    _ = receive(2, taken(2))
    join(3)
    let gone = actions { $0.disconnected(ConnectionID(rawValue: 2), &$1) }
    #expect(given(gone).map { $0[1] } == [1] + Array(3...16))
    // One that takes no more, but stays, gives back only what it says.
    join(4)
    _ = receive(3, .unsubscribe(.init(pattern: "a.*", group: "g")))
    #expect(given(receive(3, taken(1, isTaken: false))).map { $0[0] } == [4])
  }

  @Test("What a stopped member has in hand is given to another, unless it is taken in time")
  func stopped() {
    for id in 1...3 { join(id, in: id > 1) }
    _ = post(1...2)
    var later: [HubAction] = []
    for _ in 1...5 {
      later += actions { $0.tick(&$1) }
      for id in [1, 3] { _ = receive(id, .pong(.none)) }
    }
    #expect(given(later) == [[3, 1]])
    #expect(given(receive(2, taken(1))) == [])
    #expect(hub.members[2].inHand.map(\.message.number) == [2, 1])
    // It has said something, and is there.
    #expect(
      given(actions { $0.disconnected(ConnectionID(rawValue: 3), &$1) }) == [[2, 1], [2, 2]])
    // Alone, it keeps what it has.
    for _ in 1...9 { #expect(given(actions { $0.tick(&$1) }) == []) }
    #expect(hub.members[1].inHand.count == 2)
  }

  @Test("What is for nobody is counted, and so is what a group leaves behind")
  func unheardMessages() {
    join(1, in: false)
    #expect(unheard(post(1...3)) == 3)
    join(2)
    #expect(unheard(post(4...20)) == 0)
    // What it had in hand, and what waited.
    #expect(unheard(actions { $0.disconnected(ConnectionID(rawValue: 2), &$1) }) == 17)
    #expect(unheard(post(21...21)) == 1)
  }

  @Test("A group that takes less than is posted loses the oldest, and the poster is told of each")
  func bounded() {
    for id in 1...2 { join(id, in: id > 1) }
    let payload = [UInt8](repeating: 0, count: 1 << 20)
    let actions = (1...30 as ClosedRange<UInt64>).flatMap {
      receive(1, .message(Message(1, $0, subject: "a.b", payload: payload)))
    }
    let dropped = actions.count {
      $0 == .send([ConnectionID(rawValue: 1)], .dropped(subject: "a.b"))
    }
    #expect(dropped == 30 - 16 - 7)
  }

  @Test("The next hub gives nothing again that a member has, and all that none has")
  func recovered() {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [2, 3])
    join(1, in: false, at: at(2, 9), settled: at(2, 3))
    join(2, at: at(2, 9), settled: at(2, 2))
    let asked = join(3, at: at(2, 9))
    // Of what is settled, it says nothing before it is open.
    #expect(hub.settled == .none)
    #expect(asked.contains(.send([ConnectionID(rawValue: 3)], .collect(token: 1, since: at(2, 3)))))
    // The poster knows them all, and one that no hub had.
    for number in 3...7 as ClosedRange<UInt64> {
      _ = receive(
        1, .collected(LogEntry(message: Message(1, number, at: at(2, number), subject: "a.b"))))
    }
    _ = receive(1, .collected(LogEntry(message: Message(1, 8, subject: "a.b"))))
    _ = receive(1, .collectedAll(token: 1, floor: .none))
    func key(_ number: UInt64, _ isTaken: Bool) -> MemberFrame {
      .given(.init(group: "g", key: .init(sender: 1, number: number), isTaken: isTaken))
    }
    _ = receive(
      2, key(4, true), key(5, false), key(6, false), key(7, false),
      .collectedAll(token: 1, floor: .none))
    // While others are awaited, it takes one, and gives one back.
    _ = receive(2, taken(6), taken(7, isTaken: false))
    let opened = receive(3, .collectedAll(token: 1, floor: .none))
    #expect(given(opened) == [[3, 7], [2, 8]])
    #expect(hub.members[1].inHand.map(\.message.number) == [5, 8])
  }

  @Test(
    "If no hub has said what a group has taken, the next one asks for all that there is",
    arguments: [true, false])
  func nothingSettled(group: Bool) {
    hub = HubState(generation: 3, busID: 7, own: 1, expected: [2])
    join(1, in: false, at: at(2, 9))
    let since = group ? .none : at(2, 9)
    #expect(
      join(2, in: group, at: at(2, 9)).contains(
        .send([ConnectionID(rawValue: 2)], .collect(token: 1, since: since))))
  }

  @Test("A hub that leaves tells all what groups have taken and the next hub does not know")
  func ends() {
    for id in 1...3 { join(id, in: id > 1) }
    _ = post(1...4)
    _ = receive(3, taken(2))
    _ = receive(2, taken(1))
    _ = actions { $0.tick(&$1) }
    _ = receive(3, taken(4))
    let said = actions { $0.end(&$1) }
    for id in 1...3 {
      let frames = said.compactMap { action -> HubFrame? in
        guard case .send([ConnectionID(rawValue: id)], let frame) = action else { return nil }
        return frame
      }
      #expect(
        frames == [
          .ping(at(2, 4), settled: at(2, 2)),
          .taken(group: "g", .init(sender: 1, number: 4), at(2, 4)),
        ])
    }
  }

  @Test("A member tells the next hub what it has in hand, and hears nothing twice")
  func member() {
    var member = MemberState(id: 5, name: "m", processID: 1)
    func said(_ body: (inout MemberState, inout [MemberAction]) -> Void) -> [MemberAction] {
      CampanileRelayTests.actions(of: &member, body)
    }
    _ = said { $0.connected(generation: 2, &$1) }
    _ = said {
      $0.received(
        .open(position: at(2, 0), ownNumber: 0, .init(generation: 2, since: .none, last: .none)),
        &$1)
    }
    let messages = (1...3 as ClosedRange<UInt64>).map {
      Message(1, $0, at: at(2, $0), subject: "a.b")
    }
    for message in messages {
      #expect(
        said { $0.received(.shared(group: "g", message), &$1) } == [.share(group: "g", message)])
    }
    #expect(said { $0.taken("g", messages[0].key, true, &$1) } == [.send(taken(1))])
    #expect(
      said { $0.taken("g", messages[2].key, false, &$1) } == [.send(taken(3, isTaken: false))])
    // What it has in hand comes again, as does what it has taken and what it has given back.
    #expect(said { $0.received(.shared(group: "g", messages[1]), &$1) } == [])
    #expect(said { $0.received(.shared(group: "g", messages[0]), &$1) } == [.send(taken(1))])
    func given() -> [MemberAction] {
      said { $0.received(.collect(token: 1, since: at(2, 3)), &$1) }.filter {
        if case .send(.given) = $0 { true } else { false }
      }
    }
    func key(_ number: UInt64, _ isTaken: Bool) -> MemberAction {
      .send(.given(.init(group: "g", key: messages[Int(number) - 1].key, isTaken: isTaken)))
    }
    #expect(given() == [key(1, true), key(2, false)])
    _ = said { $0.received(.ping(at(2, 3), settled: at(2, 2)), &$1) }
    #expect(given() == [key(2, false)])
    // What another one has taken, as a hub says that leaves.
    let other = Message(1, 4, at: at(2, 4)).key
    _ = said { $0.received(.taken(group: "g", other, at(2, 4)), &$1) }
    #expect(
      given() == [key(2, false), .send(.given(.init(group: "g", key: other, isTaken: true)))])
    #expect(
      said { $0.received(.shared(group: "g", messages[2]), &$1) }
        == [.share(group: "g", messages[2])])
  }
}
