import Campanile
import CampanileRelay
import CampanileTesting
import Foundation
import Testing

@Suite("Who is the hub")
struct HubTests {
  @Test("R2 R4 One who becomes the hub takes over under load, and nothing is lost")
  func takesOver() async throws {
    try await withFolder { folder in
      let bus = Relay.Transport.host("test", in: folder.path)
      let first = Member(bus, "first")
      let second = Member(bus, "second")
      try await first.relay.flush()
      try await second.relay.flush()
      // From the beginning: a hub that is silent for too long loses its office again.
      async let hub = first.relay.peers.values(.initial)
        .compactMap { $0.new.first(where: \.isHub) }.first { $0.name == "third" }
      let count = 20_000
      let third = Locked<Member?>(nil)
      for number in 0..<count {
        first.post(number...number)
        if number == count / 4 {
          third.withLock {
            $0 = Member(.host("test", in: folder.path, becomesHub: true), "third")
          }
        }
        if number % 1_000 == 0 { try await first.relay.flush() }
      }
      #expect(try await second.ticks.next(count) == Array(0..<count))
      #expect(await hub?.name == "third")
      withExtendedLifetime((first, second, third.withLock { $0 })) {}
    }
  }

  @Test("Two who become the hub take over once each")
  func twice() async throws {
    try await withFolder { folder in
      let bus = Relay.Transport.host("test", in: folder.path, becomesHub: true)
      let one = Member(bus, "one")
      try await one.relay.flush()
      let two = Member(bus, "two")
      try await two.relay.flush()
      _ = await one.relay.peers.values(.initial).first { $0.new.contains(where: \.isHub) }
      #expect(one.relay.peers.value.map(\.name) == ["two"])
      one.post(1...3)
      two.post(4...6)
      try await one.relay.flush()
      try await two.relay.flush()
      #expect(Set(try await one.ticks.next(6)) == [1, 2, 3, 4, 5, 6])
      // The first has given way, and has not come back.
      #expect(one.relay.peers.value.map(\.isHub) == [true])
      withExtendedLifetime((one, two)) {}
    }
  }
}
