import Campanile
import CampanileRelay
import CampanileTesting
import Dispatch
import TestSupport
import Testing

@Suite("Carrying messages", .ownThread, .timeLimit(.long))
struct RelayTests {
  @Test(
    "R1 R2 What is posted is heard by all others, once, in order", arguments: Kind.allCases, [2, 5])
  func order(kind: Kind, width: Int) async throws {
    try await kind.withBus { bus in
      let members = (0..<width).map { Member(bus, "\($0)") }
      for member in members { try await member.relay.flush() }
      members[0].post(1...300)
      try await members[0].relay.flush()
      for member in members {
        #expect(try await member.ticks.next(300) == Array(1...300))
      }
      members[1].post([301])
      for member in members {
        #expect(try await member.ticks.next() == 301)
        try member.ticks.expectNothingMore()
      }
      withExtendedLifetime(members) {}
    }
  }

  @Test("R2 Nobody hears an answer before its question", arguments: Kind.ofOneHost, [3, 5])
  func causality(kind: Kind, width: Int) async throws {
    try await kind.withBus { bus in
      let members = (0..<width).map { Member(bus, "\($0)") }
      let listener = members[2]
      let order = Recorder<Int>(timeout: lostAfter)
      var tokens: [ObservationToken] = []
      for member in members { member.relay.carry(Tock.self, in: member.center) }
      for (index, member) in members.enumerated() where index != 0 && index != 2 {
        tokens.append(
          member.center.observe(Tick.self) { [weak center = member.center] tick in
            center?.post(Tock(number: tick.number))
          })
      }
      tokens += [
        listener.center.observe(Tick.self) { order.record($0.number) },
        listener.center.observe(Tock.self) { order.record(-$0.number) },
      ]
      for member in members { try await member.relay.flush() }
      members[0].post(1...100)
      let heard = try await order.next(100 * (width - 1))
      for number in 1...100 {
        let question = try #require(heard.firstIndex(of: number))
        let answer = try #require(heard.firstIndex(of: -number))
        #expect(question < answer)
      }
      withExtendedLifetime((members, tokens)) {}
    }
  }

  @Test("Types are carried one way, or both", arguments: Kind.allCases)
  func directions(kind: Kind) async throws {
    try await kind.withBus { bus in
      let both = Member(bus)
      let inward = Member(bus, carrying: .inward)
      let outward = Member(bus, carrying: .outward)
      let tocks = Recorder<Int>(timeout: lostAfter)
      var tokens: [ObservationToken] = []
      for member in [both, inward, outward] {
        member.relay.carry(Tock.self, in: member.center)
        tokens.append(member.center.observe(Tock.self) { tocks.record($0.number) })
      }
      for member in [both, inward, outward] { try await member.relay.flush() }
      /// Posts, and waits until all have heard what comes after it.
      func post(_ number: Int, from member: Member) async throws {
        member.post([number])
        member.center.post(Tock(number: number))
        #expect(try await tocks.next(3) == [number, number, number])
      }
      try await post(1, from: inward)
      try await post(2, from: outward)
      try await post(3, from: both)
      #expect(inward.ticks.values == [1, 2, 3])
      #expect(outward.ticks.values == [2])
      #expect(both.ticks.values == [2, 3])
      // To carry again changes the direction.
      inward.relay.carry(Tick.self, in: inward.center, .outward)
      try await post(4, from: inward)
      try await post(5, from: both)
      #expect(inward.ticks.values == [1, 2, 3, 4])
      #expect(both.ticks.values == [2, 3, 4, 5])
      both.relay.stopCarrying(Tick.self, in: both.center)
      try await post(6, from: inward)
      #expect(both.ticks.values == [2, 3, 4, 5])
      #expect(outward.ticks.values == [2])
      withExtendedLifetime((both, inward, outward, tokens)) {}
    }
  }

  @Test(
    "R9 What arrives is not posted when carrying has stopped meanwhile", arguments: Kind.allCases)
  func stopsWhileFinding(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (sender, receiver) = (Member(bus), Member(bus))
      let player = Player("a")
      let levels = Recorder<Int>()
      sender.relay.carry(
        LevelChanged.self, in: sender.center, .outward, name: { $0.id }, find: { _ in nil })
      receiver.relay.carry(
        LevelChanged.self, in: receiver.center, .inward, name: { $0.id },
        find: { [weak relay = receiver.relay, weak center = receiver.center] _ in
          if let relay, let center { relay.stopCarrying(LevelChanged.self, in: center) }
          return player
        })
      let token = receiver.center.observe(LevelChanged.self) { levels.record($0.level) }
      for member in [sender, receiver] { try await member.relay.flush() }
      sender.center.post(LevelChanged(level: 1), about: player)
      sender.post([2])
      #expect(try await receiver.ticks.next() == 2)
      try levels.expectNothingMore()
      withExtendedLifetime((sender, receiver, token)) {}
    }
  }

  @Test("Names have tokens that messages say, by which processes choose", arguments: Kind.allCases)
  func filters(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (sender, all, one) = (Member(bus), Member(bus), Member(bus))
      let (every, north) = (
        Recorder<String>(timeout: lostAfter), Recorder<String>(timeout: lostAfter)
      )
      sender.relay.carry(Ring.self, in: sender.center, .outward)
      all.relay.carry(Ring.self, in: all.center, .inward)
      one.relay.carry(Ring.self, in: one.center, .inward, .where(\.tower, "No. 1 *>"))
      let tokens = [
        all.center.observe(Ring.self) { every.record($0.tower) },
        one.center.observe(Ring.self) { north.record($0.tower) },
      ]
      let towers = ["south", "No. 1 *>", "", "Süd.ost"]
      for member in [sender, all, one] { try await member.relay.flush() }
      for tower in towers { sender.center.post(Ring(tower: tower)) }
      sender.center.post(Ring(tower: "No. 1 *>", count: 2))
      #expect(try await every.next(5) == towers + ["No. 1 *>"])
      #expect(try await north.next(2) == ["No. 1 *>", "No. 1 *>"])
      withExtendedLifetime((sender, all, one, tokens)) {}
    }
  }

  @Test("Subjects travel as names", arguments: Kind.allCases)
  func subjects(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (one, two) = (Member(bus), Member(bus))
      let mine = ["a.b": Player("a.b"), "": Player(""), "mine": Player("mine")]
      let theirs = ["a.b": Player("a.b"), "": Player("")]
      one.relay.carry(
        LevelChanged.self, in: one.center, name: { $0.id }, find: { mine[$0] })
      two.relay.carry(
        LevelChanged.self, in: two.center, name: { $0.id }, find: { theirs[$0] })
      let heard = Recorder<String>(timeout: lostAfter)
      let token = two.center.messages(of: LevelChanged.self).withSubject.observe {
        heard.record("\($0.subject?.id ?? "nothing") \($0.message.level)")
      }
      for member in [one, two] { try await member.relay.flush() }
      one.center.post(LevelChanged(level: 1), about: mine["a.b"]!)
      // There is no such player over there, and what is about nobody stays here.
      one.center.post(LevelChanged(level: 2), about: mine["mine"]!)
      one.center.post(LevelChanged(level: 3))
      one.center.post(LevelChanged(level: 4), about: mine[""]!)
      #expect(try await heard.next(2) == ["a.b 1", " 4"])
      withExtendedLifetime((one, two, token)) {}
    }
  }

  @Test("R3 Nothing comes back, along two buses and two relays on one", arguments: Kind.allCases)
  func echo(kind: Kind) async throws {
    try await kind.withBus { first in
      try await kind.withBus { second in
        let (one, two) = (Member(first), Member(first))
        // Both also on another bus, and the first twice on the same.
        let more = [Relay(second), Relay(second), Relay(first)]
        more[0].carry(Tick.self, in: one.center)
        more[1].carry(Tick.self, in: two.center)
        more[2].carry(Tick.self, in: one.center)
        for relay in [one.relay, two.relay] + more { try await relay.flush() }
        // Called after the relays have had each message.
        let sent = Recorder<Int>(timeout: lostAfter)
        let token = two.center.observe(Tick.self) { sent.record($0.number) }
        one.post([1])
        // Three ways lead to the other center, and none back.
        #expect(try await sent.next(3) == [1, 1, 1])
        // What comes back would come before what is posted later.
        two.post([2])
        #expect(try await one.ticks.next(4) == [1, 2, 2, 2])
        #expect(two.ticks.values == [1, 1, 1, 2])
        withExtendedLifetime((one, two, more, token)) {}
      }
    }
  }

  @Test(
    "R5 A post is encoded once, however many hear it, and not by the poster",
    arguments: Array(zip(Kind.allCases, 0...)), [2, 5])
  func encoding(kind: (Kind, UInt8), width: Int) async throws {
    try await kind.0.withBus { bus in
      let test = kind.1 * 8 + UInt8(width)
      let members = (0..<width).map { Member(bus, "\($0)") }
      let heard = Recorder<UInt8>(timeout: lostAfter)
      for member in members { member.relay.carry(Encoded.self, in: member.center) }
      let tokens = members.dropFirst().map {
        $0.center.observe(Encoded.self) { heard.record($0.test) }
      }
      for member in members { try await member.relay.flush() }
      Encoded.$isPosting.withValue(true) {
        for _ in 0..<100 { members[0].center.post(Encoded(test: test)) }
      }
      let count = 100 * (width - 1)
      #expect(try await heard.next(count) == Array(repeating: test, count: count))
      let encodings = Encoded.encodings.values.filter { $0.test == test }
      #expect(encodings.count == 100 && !encodings.contains(where: \.isPosting))
      withExtendedLifetime((members, tokens)) {}
    }
  }

  @Test(
    "R5 The link has its turns while much is encoded",
    arguments: Array(zip(Kind.allCases, 128...)))
  func encodingInParts(kind: (Kind, UInt8)) async throws {
    try await kind.0.withBus { bus in
      let member = Member(bus, "one")
      member.relay.carry(Encoded.self, in: member.center)
      try await member.relay.flush()
      let counts = Recorder<Int>(timeout: lostAfter)
      let queue = member.relay.link.queue
      queue.suspend()
      for _ in 0..<5_000 { member.center.post(Encoded(test: kind.1)) }
      queue.async {
        counts.record(Encoded.encodings.values.count { $0.test == kind.1 })
      }
      queue.resume()
      let count = try await counts.next()
      #expect(count > 0 && count < 5_000)
      try await member.relay.flush()
      #expect(Encoded.encodings.values.count { $0.test == kind.1 } == 5_000)
    }
  }

  @Test(
    "R8 What cannot be decoded is reported, with name, version and sender",
    arguments: Kind.allCases)
  func undecodable(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (one, two) = (Member(bus, "sender", carrying: nil), Member(bus))
      try await two.relay.flush()
      one.relay.post(raw: Array("no JSON".utf8), to: "clock.tick", version: 7)
      one.relay.post(raw: Array(#"{"number":5}"#.utf8), to: "clock.tick")
      #expect(try await two.ticks.next() == 5)
      // An attempt to connect to a slow server is reported, too.
      let event = try #require(two.events.values.first { $0.kind == .undecodable })
      #expect((event.subject, event.version, event.sender?.name) == ("clock.tick", 7, "sender"))
      #expect(event.reason.contains("Tick"))
      withExtendedLifetime((one, two)) {}
    }
  }

  @Test(
    "A message that is too long, or that cannot be encoded, is refused and reported",
    arguments: Kind.allCases)
  func refused(kind: Kind) async throws {
    struct Broken: RelayedMessage {
      static let relaySubject: RelaySubject<Self> = "broken"
      var number = Double.nan
    }
    try await kind.withBus { bus in
      let one = Member(bus)
      one.relay.carry(Broken.self, in: one.center)
      one.center.post(Broken())
      one.relay.post(raw: [UInt8](repeating: 0, count: 1 << 20 + 1), to: "long")
      let name = String(repeating: "n", count: 5_000_000)
      one.relay.post(raw: [], to: name)
      var events: [RelayEvent] = []
      while events.count < 3 {
        let event = try await one.events.next()
        if event.kind != .unavailable { events.append(event) }
      }
      #expect(events.map(\.kind) == [.refused, .refused, .refused])
      // What is not encoded is refused at once.
      #expect(Set(events.map(\.subject)) == ["broken", "long", name])
      try await one.relay.flush()
      withExtendedLifetime(one) {}
    }
  }

  @Test("R9 Nothing is heard after cancel returned", arguments: Kind.allCases)
  func canceled(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (one, two) = (Member(bus), Member(bus))
      let gate = Gate()
      let token = two.center.observe(Tick.self) { _ in gate.pass() }
      let states = Recorder<RelayState>(timeout: lostAfter)
      let state = two.relay.state.observe { states.record($0) }
      try await two.relay.flush()
      one.post(1...100)
      try await gate.reached(within: lostAfter)
      // The others are there, or on their way.
      try await one.relay.flush()
      two.relay.cancel()
      gate.open()
      // Said where messages are delivered, after the call.
      while try await states.next() != .ended {}
      #expect(two.ticks.values == [1])
      await #expect(throws: RelayError.self) { try await two.relay.flush() }
      withExtendedLifetime((one, token, state)) {}
    }
  }

  @Test(
    "R10 postAndWait returns when each present member has the message", arguments: Kind.allCases)
  func postAndWait(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (one, two) = (Member(bus), Member(bus))
      try await two.relay.flush()
      for number in 1...20 { try await one.center.postAndWait(Tick(number: number)) }
      #expect(try await two.ticks.next(20) == Array(1...20))
      one.relay.cancel()
      // A relay that has ended holds nothing open.
      try await one.center.postAndWait(Tick(number: 21))
      withExtendedLifetime((one, two)) {}
    }
  }

  @Test(
    "A buffer may be as large as can be", arguments: Kind.allCases,
    [RelayBuffering.newest(bytes: .max), .oldest(bytes: .max)])
  func largestBuffer(kind: Kind, buffering: RelayBuffering) async throws {
    try await kind.withBus { bus in
      let (one, two) = try await connected(
        Member(bus, buffering: buffering), Member(bus, buffering: buffering))
      one.post(1...100)
      #expect(try await two.ticks.next(100) == Array(1...100))
      withExtendedLifetime((one, two)) {}
    }
  }

  @Test(
    "What is posted before there is a connection is sent then, also if the relay is drained",
    arguments: Kind.allCases, [false, true])
  func early(kind: Kind, isDrained: Bool) async throws {
    try await kind.withBus { bus in
      let two = Member(bus)
      try await two.relay.flush()
      let one = Member(bus)
      one.post(1...100)
      if isDrained { await one.relay.drain() }
      #expect(try await two.ticks.next(100) == Array(1...100))
      withExtendedLifetime((one, two)) {}
    }
  }

  @Test("A relay that is drained has sent and posted all, and is gone", arguments: Kind.allCases)
  func drained(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (one, two) = try await connected(Member(bus, "one"), Member(bus, "two"))
      one.post(1...100)
      await one.relay.drain()
      #expect(try await two.ticks.next(100) == Array(1...100))
      one.post([101])
      let states = Recorder<[RelayPeer]>(timeout: lostAfter)
      let token = two.relay.peers.observe(options: .initial) { states.record($0) }
      while try await !states.next().isEmpty {}
      #expect(two.ticks.values.count == 100)
      withExtendedLifetime((one, two, token)) {}
    }
  }

  @Test("The events of a relay end with it, after the last one", arguments: Kind.allCases)
  func endedEvents(kind: Kind) async throws {
    try await kind.withBus { bus in
      let one = Member(bus, "one")
      let queue = DispatchQueue(label: "test.events")
      let reasons = Recorder<RelayEvent.Kind>(timeout: lostAfter)
      let token = one.relay.events.observe(on: .queue(queue)) { reasons.record($0.kind) }
      let events = one.relay.events.values()
      queue.suspend()
      one.relay.post(raw: [UInt8](repeating: 0, count: 1 << 20 + 1), to: "long")
      await one.relay.drain()
      queue.resume()
      var last: RelayEvent?
      for await event in events where event.kind != .unavailable { last = event }
      #expect(last?.kind == .refused)
      while try await reasons.next() != .refused {}
      withExtendedLifetime((one, token)) {}
    }
  }

  @Test("State and peers are current values", arguments: Kind.allCases)
  func peers(kind: Kind) async throws {
    try await kind.withBus { bus in
      let one = Member(bus, "one")
      let states = Recorder<RelayState>(timeout: lostAfter)
      let peers = Recorder<[String]>(timeout: lostAfter)
      let tokens = [
        one.relay.state.observe(options: .initial) { states.record($0) },
        one.relay.peers.observe(options: .initial) { peers.record($0.map(\.name)) },
      ]
      while try await states.next() != .connected {}
      #expect(try await peers.next() == [])
      let two = Member(bus, "two")
      while try await peers.next() != ["two"] {}
      two.relay.cancel()
      while try await !peers.next().isEmpty {}
      one.relay.cancel()
      while try await states.next() != .ended {}
      withExtendedLifetime((one, tokens)) {}
    }
  }
}
