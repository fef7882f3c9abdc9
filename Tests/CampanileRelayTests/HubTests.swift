import Campanile
import CampanileRelay
import CampanileTesting
import Foundation
import TestSupport
import Testing

@Suite("Who is the hub", .ownThread, .timeLimit(.long))
struct HubTests {
  @Test("R2 R4 One who becomes the hub takes over under load, and nothing is lost")
  func takesOver() async throws {
    try await withFolder { folder in
      let bus = Relay.Transport.test(in: folder.path)
      let first = Member(bus, "first")
      let second = Member(bus, "second")
      try await first.relay.flush()
      try await second.relay.flush()
      var (count, third): (Int, Member?) = (0, nil)
      while count < 10_000 || first.relay.peers.value.first(where: \.isHub)?.name != "third" {
        try #require(count < 200_000, "The third has not become the hub")
        first.post(count..<count + 1_000)
        count += 1_000
        if count == 5_000 { third = Member(.test(in: folder.path, becomesHub: true), "third") }
        try await first.relay.flush()
      }
      #expect(try await second.ticks.next(count) == Array(0..<count))
      withExtendedLifetime((first, second, third)) {}
    }
  }

  @Test("Answers of the relay with the hub arrive when it is drained, however long they are")
  func answersLong() async throws {
    try await withFolder { folder in
      let one = Member(.test(in: folder.path, becomesHub: true), "one")
      try await one.relay.flush()
      let two = Member(.test(in: folder.path), "two")
      let asked = Recorder<Int>(timeout: lostAfter)
      let (isOpen, open) = AsyncStream.makeStream(of: Void.self)
      let token = one.relay.answer(raw: "long") { _, _ in
        asked.record(1)
        for await _ in isOpen {}
        return [UInt8](repeating: 7, count: 1 << 20)
      }
      for member in [one, two] { try await member.relay.flush() }
      let asking = Task {
        defer { asked.record(0) }
        return try await two.relay.request(raw: [], to: "long", within: lostAfter)
      }
      _ = try await asked.next()
      async let drained: Void = one.relay.drain()
      open.finish()
      await drained
      #expect(try await asking.value.count == 1 << 20)
      withExtendedLifetime((one, two, token)) {}
    }
  }

  @Test("Two who become the hub take over once each")
  func twice() async throws {
    try await withFolder { folder in
      let bus = Relay.Transport.test(in: folder.path, becomesHub: true)
      let one = Member(bus, "one")
      try await one.relay.flush()
      let two = Member(bus, "two")
      try await two.relay.flush()
      one.post(1...3)
      two.post(4...6)
      try await one.relay.flush()
      try await two.relay.flush()
      #expect(Set(try await one.ticks.next(6)) == [1, 2, 3, 4, 5, 6])
      let peers = one.relay.peers.value
      #expect(peers.map(\.name) == ["two"] && peers.map(\.isHub) == [true])
      let files = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/test")
      #expect(files.contains("hub.2.lock") && !files.contains("hub.3.lock"))
      withExtendedLifetime((one, two)) {}
    }
  }
}
