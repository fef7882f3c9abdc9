import Campanile
import CampanileRelay
import Foundation
import TestSupport
import Testing

/// A member in Python, written from the page that specifies the frames.
@Suite(
  "A peer in another language", .serialized, .ownThread, .timeLimit(.long),
  .enabled("It needs Python") { FileManager.default.isExecutableFile(atPath: "/usr/bin/python3") }
)
struct PeerTests {
  private func start(in folder: URL) throws -> MemberProcess {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Peer/peer.py").path
    let bus = folder.appending(path: "test").path
    return try MemberProcess(["/usr/bin/python3", script, bus, "python"], "python")
  }

  @Test("It posts, hears, asks and answers")
  func speaks() async throws {
    try await withFolder { folder in
      let member = Member(.test(in: folder.path))
      let token = member.relay.answer(raw: "double") { _, bytes in bytes + bytes }
      try await member.relay.flush()
      let peer = try start(in: folder)
      for line in ["hear clock.>", "answer loud"] { try peer.say(line) }
      #expect(try peer.ask("flush") == "flushed")
      await eventually { member.relay.peers.value.map(\.name) == ["python"] }
      member.post([7])
      #expect(try peer.hear() == #"heard clock.tick {"number":7}"#)
      try peer.say(#"post clock.tick {"number":8}"#)
      #expect(try await member.ticks.next(2) == [7, 8])
      #expect(try peer.ask("ask double ab") == "answered abab")
      #expect(try peer.ask("ask nobody x") == "failed ")
      let answer = try await member.relay.request(
        raw: Array("peer".utf8), to: "loud", within: lostAfter)
      #expect(answer == Array("PEER".utf8))
      withExtendedLifetime((member, token)) {}
    }
  }

  @Test("R4 It follows to the next hub when one dies, and loses nothing")
  func follows() async throws {
    try await withFolder { folder in
      let hub = try MemberProcess(folder, "hub")
      try hub.carry()
      let member = Member(.test(in: folder.path))
      try await member.relay.flush()
      let peer = try start(in: folder)
      try peer.say("hear clock.>")
      #expect(try peer.ask("flush") == "flushed")
      for number in 1...100 { try peer.say(#"post clock.tick {"number":\#(number)}"#) }
      hub.kill()
      #expect(try await member.ticks.next(100) == Array(1...100))
      member.post([101])
      #expect(try peer.hear() == #"heard clock.tick {"number":101}"#)
      withExtendedLifetime(member) {}
    }
  }
}
