import Campanile
import CampanileTesting
import Dispatch
import TestSupport
import Testing

@testable import CampanileRelay

private struct WhoIsThere: RelayedMessage {
  static let relaySubject: RelaySubject<Self> = "who"
  var greeting = "hello"
}

private struct Failure: Error, CustomStringConvertible {
  var description: String { "no time" }
}

@Suite("Requests and listening by name", .ownThread, .timeLimit(.long))
struct RequestTests {
  @Test("Who answers a request is asked, and its answer comes back", arguments: Kind.allCases)
  func answered(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (one, two) = (Member(bus), Member(bus))
      let token = two.relay.answer(WhoIsThere.self) { [$0.greeting, "two"] }
      try await two.relay.flush()
      let names = try await one.relay.request(WhoIsThere(), as: [String].self, within: lostAfter)
      #expect(names == ["hello", "two"])
      token.cancel()
      withExtendedLifetime((one, two)) {}
    }
  }

  /// Sends a request that has come when its answer is taken back.
  private func ask(
    by one: Member, while two: Member, takesBack token: ObservationToken
  ) async throws -> Task<[String], any Error> {
    // The request waits behind other deliveries. A block of theirs that runs already would take it, so
    // they are suspended in a block of their own.
    two.relay.core.deliveries.sync { two.relay.core.deliveries.suspend() }
    let (inbox, before) = (two.relay.core.inbox, two.relay.core.inbox.size)
    let asking = Task {
      try await one.relay.request(WhoIsThere(), as: [String].self, within: lostAfter)
    }
    await eventually { inbox.size > before }
    token.cancel()
    two.relay.core.deliveries.resume()
    return asking
  }

  @Test(
    "A request that arrives when its answer has been taken back is told so, or another relay answers",
    arguments: [false, true])
  func takenBack(isThereAnother: Bool) async throws {
    let bus = Relay.Transport.loopback("\(UInt64.random(in: 0 ... .max))")
    let (one, two) = (Member(bus), Member(bus))
    let token = two.relay.answer(WhoIsThere.self) { _ in ["two"] }
    try await two.relay.flush()
    let three = Member(bus)
    let other =
      isThereAnother ? three.relay.answer(WhoIsThere.self) { _ in ["three"] } : nil
    try await three.relay.flush()
    let asking = try await ask(by: one, while: two, takesBack: token)
    if isThereAnother {
      #expect(try await asking.value == ["three"])
    } else {
      let error = await #expect(throws: RelayError.self) { try await asking.value }
      #expect(error?.code == .nobodyAnswers)
    }
    withExtendedLifetime((one, two, three, other)) {}
  }

  @Test(
    "A relay that is drained answers what it has been asked, and is asked no more",
    arguments: Kind.allCases)
  func drained(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (one, two) = (Member(bus), Member(bus))
      let asked = Recorder<String>(timeout: lostAfter)
      let (isOpen, open) = AsyncStream.makeStream(of: Void.self)
      let token = two.relay.answer(WhoIsThere.self) { question in
        asked.record(question.greeting)
        if question.greeting == "hello" { for await _ in isOpen {} }
        return ["two"]
      }
      try await two.relay.flush()
      let asking = Task {
        try await one.relay.request(WhoIsThere(), as: [String].self, within: lostAfter)
      }
      #expect(try await asked.next() == "hello")
      let draining = Task { await two.relay.drain() }
      await untilNobodyAnswers {
        _ = try await one.relay.request(
          WhoIsThere(greeting: "late"), as: [String].self, within: .milliseconds(200))
      }
      open.finish()
      await draining.value
      #expect(try await asking.value == ["two"])
      withExtendedLifetime((one, two, token)) {}
    }
  }

  /// Asks until nobody answers any more.
  private func untilNobodyAnswers(_ ask: () async throws -> Void) async {
    var last: RelayError.Code?
    while last != .nobodyAnswers {
      do {
        try await ask()
      } catch {
        last = (error as? RelayError)?.code
      }
    }
  }

  @Test(
    "A relay can be drained by its own answer, twice at a time, and be canceled meanwhile",
    arguments: Kind.allCases)
  func drainedInside(kind: Kind) async throws {
    try await kind.withBus { bus in
      // It becomes the hub, so that no hub leaves with a request under way.
      let one = Member(bus)
      try await one.relay.flush()
      let (two, three) = (Member(bus), Member(bus))
      let token = two.relay.answer(raw: "quit") { [relay = two.relay] _, _ in
        await relay.drain()
        return []
      }
      let states = Recorder<RelayState>(timeout: lostAfter)
      let state = two.relay.state.observe { states.record($0) }
      let asked = Recorder<Int>(timeout: lostAfter)
      let stuck = three.relay.answer(raw: "stuck") { _, _ in
        asked.record(1)
        try await Task.sleep(for: .seconds(3_600))
        return []
      }
      for member in [two, three] { try await member.relay.flush() }
      let quitting = Task {
        try await one.relay.request(raw: [], to: "quit", within: lostAfter)
      }
      while try await states.next() != .ended {}
      // The relay ends before its answer does. Whether that is told depends on the carrier.
      quitting.cancel()
      await #expect(throws: (any Error).self) { try await quitting.value }
      let asking = Task {
        try await one.relay.request(raw: [], to: "stuck", within: lostAfter)
      }
      #expect(try await asked.next() == 1)
      async let first: Void = three.relay.drain()
      async let second: Void = three.relay.drain()
      await untilNobodyAnswers {
        _ = try await one.relay.request(raw: [], to: "stuck", within: .milliseconds(200))
      }
      // Neither of the two ends the relay while the answer is being made.
      try await one.relay.flush()
      #expect(three.relay.state.value != .ended)
      three.relay.cancel()
      await first
      await second
      asking.cancel()
      _ = await asking.result
      withExtendedLifetime((one, two, three, token, stuck, state)) {}
    }
  }

  @Test("Of several answers in one relay, the first registered answers alone")
  func answeredOnce() async throws {
    let bus = Relay.Transport.loopback("\(UInt64.random(in: 0 ... .max))")
    let (one, two) = (Member(bus), Member(bus))
    let asked = Recorder<String>(timeout: lostAfter)
    func answer(_ pattern: String) -> ObservationToken {
      two.relay.answer(raw: pattern) { _, _ in
        asked.record(pattern)
        return Array(pattern.utf8)
      }
    }
    let first = answer("x.>")
    let second = answer("x.y")
    try await two.relay.flush()
    func ask() async throws -> String {
      let bytes = try await one.relay.request(raw: [], to: "x.y", within: lostAfter)
      return String(decoding: bytes, as: UTF8.self)
    }
    #expect(try await ask() == "x.>")
    first.cancel()
    #expect(try await ask() == "x.y")
    await two.relay.drain()
    #expect(asked.values == ["x.>", "x.y"])
    withExtendedLifetime((one, two, second)) {}
  }

  @Test("A request may wait for as long as a duration can be", arguments: Kind.allCases)
  func longest(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (one, two) = (Member(bus), Member(bus))
      let token = two.relay.answer(raw: "echo") { $1 }
      try await two.relay.flush()
      let echo = try await one.relay.request(
        raw: [1], to: "echo", within: .seconds(Int64.max))
      #expect(echo == [1])
      withExtendedLifetime((one, two, token)) {}
    }
  }

  @Test(
    "Nobody answers: that is said at once, and what the other side throws", arguments: Kind.allCases
  )
  func failed(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (one, two) = (Member(bus), Member(bus))
      @Sendable func ask(within limit: Duration) async throws {
        _ = try await one.relay.request(WhoIsThere(), as: [String].self, within: limit)
      }
      @Sendable func code(within limit: Duration = lostAfter) async -> RelayError? {
        await #expect(throws: RelayError.self) { try await ask(within: limit) }
      }
      try await two.relay.flush()
      #expect(await code()?.code == .nobodyAnswers)
      let token = two.relay.answer(WhoIsThere.self) { _ -> [String] in throw Failure() }
      try await two.relay.flush()
      let error = await code()
      #expect(error?.code == .failed)
      #expect(error?.message == "no time")
      token.cancel()
      try await two.relay.flush()
      let silent = two.relay.answer(WhoIsThere.self) { _ -> [String] in
        try await Task.sleep(for: .seconds(3_600))
        return []
      }
      try await two.relay.flush()
      #expect(await code(within: .milliseconds(50))?.code == .timedOut)
      let asking = Task { await code() }
      let canceled = Task { try await ask(within: lostAfter) }
      canceled.cancel()
      await #expect(throws: CancellationError.self) { try await canceled.value }
      try await one.relay.flush()
      one.relay.cancel()
      #expect(await asking.value?.code == .ended)
      withExtendedLifetime((one, two, silent)) {}
    }
  }

  @Test(
    "A request or an answer that is too long is refused, and the bus stays as it is",
    arguments: Kind.allCases)
  func tooLong(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (one, two) = (Member(bus), Member(bus))
      let long = [UInt8](repeating: 0x20, count: 1 << 20 + 1)
      let token = two.relay.answer(raw: "echo") { _, bytes in bytes.isEmpty ? long : bytes }
      try await two.relay.flush()
      func code(_ bytes: [UInt8]) async -> RelayError? {
        await #expect(throws: RelayError.self) {
          try await one.relay.request(raw: bytes, to: "echo", within: lostAfter)
        }
      }
      let request = await code(long)
      #expect(request?.code == .refused)
      #expect(
        request?.message == "A request has 1048577 bytes; a relay carries 1048576 at the most.")
      let failure = await code([])
      #expect(failure?.code == .failed)
      #expect(
        failure?.message == "An answer has 1048577 bytes; a relay carries 1048576 at the most.")
      #expect(
        try await one.relay.request(raw: [1], to: "echo", within: lostAfter) == [1])
      let events = one.events.values + two.events.values
      #expect(events.allSatisfy { $0.kind == .unavailable })
      withExtendedLifetime((one, two, token)) {}
    }
  }

  @Test("A relay's name of more than a kilobyte is a mistake of the caller's")
  func longName() async {
    _ = Relay(.loopback("names"), name: String(repeating: "n", count: 1_024))
    let ended = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Relay(.loopback("names"), name: String(repeating: "n", count: 1_025))
    }
    expect(ended, says: "A relay was given a name of 1025 bytes; it takes 1024 at the most")
  }

  @Test("A wildcard that is a part of a token is a mistake of the caller's")
  func badPattern() async {
    await #expect(processExitsWith: .failure) {
      _ = Relay(.loopback("pattern")).raw("player.tr*")
    }
  }

  @Test("A key path that is a part of a token is a mistake of the caller's")
  func badSubject() async {
    let ended = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let _: RelaySubject<WhoIsThere> = "user-\(\.greeting).changed"
    }
    expect(
      ended, says: "\"user-*.changed\", where * is a key path; a key path is a token of its own")
    await #expect(processExitsWith: .failure) {
      let _: RelaySubject<WhoIsThere> = "user.\(\.greeting)\(\.greeting)"
    }
  }

  @Test("Payloads are listened to by pattern, and posted as bytes", arguments: Kind.allCases)
  func raw(kind: Kind) async throws {
    try await kind.withBus { bus in
      let (one, two) = (Member(bus, "one", carrying: nil), Member(bus, carrying: nil))
      let heard = Recorder<String>(timeout: lostAfter)
      let token = two.relay.raw("a.>").observe {
        heard.record("\($0.subject) \($0.bytes) \($0.sender.name)")
      }
      let star = two.relay.raw("*.b").observe { heard.record("* \($0.subject)") }
      try await two.relay.flush()
      one.relay.post(raw: [1], to: "a.b")
      one.relay.post(raw: [2], to: "b.a")
      one.relay.post(raw: [3], to: "a.b.c")
      #expect(try await heard.next(3) == ["a.b [1] one", "* a.b", "a.b.c [3] one"])
      token.cancel()
      try await two.relay.flush()
      one.relay.post(raw: [4], to: "a.c")
      one.relay.post(raw: [5], to: "c.b")
      #expect(try await heard.next() == "* c.b")
      withExtendedLifetime((one, two, star)) {}
    }
  }
}
