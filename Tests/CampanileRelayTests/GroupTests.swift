import Campanile
import CampanileRelay
import CampanileTesting
import Foundation
import TestSupport
import Testing

/// A relay that takes numbers as one of a group.
private final class Worker: Sendable {
  let center = MessageCenter()
  let relay: Relay
  let heard = Recorder<Int>(timeout: lostAfter)
  private let token: ObservationToken

  /// - Parameter all: Told of each number, too.
  init(_ bus: Relay.Transport, _ group: String = "workers", telling all: Recorder<Int>? = nil) {
    relay = Relay(bus, name: "worker")
    token = center.observe(Tick.self) { [heard] tick in
      heard.record(tick.number)
      all?.record(tick.number)
    }
    relay.carry(Tick.self, in: center, .inward, .oneOf(group))
  }
}

@Suite("One of several", .timeLimit(.long))
struct GroupTests {
  private let all = Recorder<Int>(timeout: lostAfter)

  private func workers(_ count: Int, on bus: Relay.Transport) async throws -> [Worker] {
    let workers = (0..<count).map { _ in Worker(bus, telling: all) }
    for worker in workers { try await worker.relay.flush() }
    return workers
  }

  @Test(
    "Each message is taken by one of a group, in the order of posting, and all others hear it",
    arguments: Kind.withGroups, [2, 5])
  func exactlyOne(kind: Kind, width: Int) async throws {
    try await kind.withBus { bus in
      let workers = try await workers(width, on: bus)
      let other = Worker(bus, "others")
      let (poster, listener) = (Member(bus), Member(bus))
      for relay in [other.relay, poster.relay, listener.relay] { try await relay.flush() }
      poster.post(1...500)
      #expect(try await listener.ticks.next(500) == Array(1...500))
      #expect(try await other.heard.next(500) == Array(1...500))
      #expect(try await all.next(500).sorted() == Array(1...500))
      for relay in workers.map(\.relay) { try await relay.flush() }
      try all.expectNothingMore()
      for worker in workers { #expect(worker.heard.values == worker.heard.values.sorted()) }
      withExtendedLifetime((poster, listener, other)) {}
    }
  }

  @Test(
    "Members of a group come and go under load, and each message is taken once",
    arguments: Kind.withGroups)
  func comingAndGoing(kind: Kind) async throws {
    try await kind.withBus { bus in
      var workers = try await workers(2, on: bus)
      let poster = Member(bus)
      for round in 0..<10 {
        poster.post(round * 200..<(round + 1) * 200)
        workers.append(Worker(bus, telling: all))
        // Somebody has to be there when the other one has left.
        try await workers[2].relay.flush()
        let leaving = workers.removeFirst()
        async let drained: Void = leaving.relay.drain()
        poster.post((round * 200..<(round + 1) * 200).map { $0 + 10_000 })
        await drained
        try await poster.relay.flush()
      }
      let expected = Array(0..<2_000) + Array(10_000..<12_000)
      #expect(try await all.next(4_000).sorted() == expected)
      for worker in workers { try await worker.relay.flush() }
      try all.expectNothingMore()
      withExtendedLifetime(poster) {}
    }
  }

  @Test("What a member has not begun with when it takes no more is taken by another")
  func givenBack() async throws {
    let bus = Relay.Transport.loopback("\(UInt64.random(in: 0 ... .max))", silence: .patient)
    let (first, second) = (Worker(bus, telling: all), Gate())
    // Its observer is in a call, so the others wait behind it.
    let token = first.center.observe(Tick.self) { _ in second.pass() }
    try await first.relay.flush()
    let poster = Member(bus)
    poster.post(1...10)
    try await second.reached(within: lostAfter)
    first.relay.stopCarrying(Tick.self, in: first.center)
    let other = Worker(bus, telling: all)
    try await other.relay.flush()
    second.open()
    #expect(try await all.next(10).sorted() == Array(1...10))
    #expect(first.heard.values == [1])
    #expect(other.heard.values == Array(2...10))
    withExtendedLifetime((poster, token)) {}
  }

  @Test(
    "What the relay with the hub has in hand when it ends is taken by another, without the poster")
  func handOfTheHub() async throws {
    try await withFolder { folder in
      let hub = Worker(.test(in: folder.path, becomesHub: true))
      let call = Gate()
      let token = hub.center.observe(Tick.self) { _ in call.pass() }
      try await hub.relay.flush()
      let poster = Member(.test(in: folder.path))
      try await poster.relay.flush()
      poster.post([1])
      try await call.reached(within: lostAfter)
      let other = Worker(.test(in: folder.path))
      try await other.relay.flush()
      await poster.relay.drain()
      hub.relay.cancel()
      #expect(try await other.heard.next() == 1)
      call.open()
      withExtendedLifetime((poster, token)) {}
    }
  }

  @Test(
    "What is for nobody is counted: where no type is carried, and when a group has left",
    arguments: Kind.ofOneHost)
  func unheard(kind: Kind) async throws {
    try await kind.withBus { bus in
      let poster = Member(bus)
      let counts = Recorder<Int>(timeout: lostAfter)
      let token = poster.relay.unheard.observe { counts.record($0) }
      func expect(_ count: Int) async throws {
        while try await counts.next() != count {}
        #expect(poster.relay.unheard.value == count)
      }
      poster.post(1...3)
      try await expect(3)
      let worker = Worker(bus, telling: all)
      try await worker.relay.flush()
      poster.post([4])
      #expect(try await all.next() == 4)
      await worker.relay.drain()
      // One that listens takes no work off anybody.
      let listener = Member(bus)
      try await listener.relay.flush()
      poster.post(5...6)
      try await expect(5)
      withExtendedLifetime((token, listener)) {}
    }
  }

  @Test("A second group, and a group without a name, are mistakes")
  func mistakes() async {
    await #expect(processExitsWith: .failure) {
      let relay = Relay(.loopback)
      relay.carry(Tick.self, in: MessageCenter(), .inward, .oneOf("a"), .oneOf("b"))
    }
    await #expect(processExitsWith: .failure) {
      _ = Relay(.loopback).raw("a", oneOf: "")
    }
  }
}
