import Campanile
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import CampanileRelay

/// A hub in a folder, whose own member says nothing.
private struct PlainHub {
  let server: HubServer
  /// The lock of the member that the hub is part of.
  let lock: FileLock

  init(
    _ generation: UInt64 = 1, in folder: BusFolder, own: UInt64 = 1, busID: UInt64
  ) throws {
    lock = try folder.announce(own)
    let claim = try #require(try folder.claim(generation))
    let state = HubState(
      generation: generation, busID: busID, own: MemberID(rawValue: own), expected: [])
    server = HubServer(state, at: try .init(in: folder, generation, claim))
    server.start()
  }

  /// Keeps the queue of the hub busy while something else runs.
  func whileBusy(_ body: () async throws -> Void) async rethrows {
    server.queue.sync { server.queue.suspend() }
    defer { server.queue.resume() }
    try await body()
  }
}

@Suite("One hub follows another", .ownThread, .timeLimit(.long))
struct TakeoverTests {
  private func withBus(_ body: (BusFolder) async throws -> Void) async throws {
    try await withFolder { path in
      let folder = BusFolder(bus: "test", in: path.path)
      try folder.prepare()
      try await body(folder)
    }
  }

  private func relay(_ folder: BusFolder, becomesHub: Bool = false) -> Relay {
    let outer = URL(filePath: folder.path).deletingLastPathComponent()
    return Relay(.test(in: outer.path, becomesHub: becomesHub))
  }

  @Test("R1 R4 One who becomes the hub waits for the process of the hub that gives way")
  func waitsForTheOldHub() async throws {
    try await withBus { folder in
      let old = try PlainHub(in: folder, busID: folder.identify())
      // The new one knows who its hub is before it is open.
      let own = try await RawMember.joined(folder, generation: 1)
      let new = relay(folder, becomesHub: true)
      let watcher = try await RawMember(folder, generation: 2)
      watcher.say(.hello(.init(2)))
      _ = try await watcher.frames { $0.isWelcome }
      let frames = try await watcher.frames { $0.isPing }
      withExtendedLifetime((old, own, new)) {}
      // Nor does it open before the member joins that the old hub is part of.
      let isOpen = frames.contains { $0.isOpen }
      #expect(!isOpen)
    }
  }

  @Test("A hub looks for a later one when a member leaves, and tells nobody who has left")
  func looksWhenAMemberLeaves() async throws {
    try await withBus { folder in
      let hub = try PlainHub(in: folder, busID: folder.identify())
      let one = try await RawMember(folder, generation: 1)
      one.say(.hello(.init(1)))
      let two = try await RawMember(folder, generation: 1)
      two.say(.hello(.init(2)))
      _ = try await one.frames { $0.isJoined }
      let claim = try #require(try folder.claim(2))
      two.close()
      while let frame = try await one.hear() { #expect(!frame.isLeft) }
      withExtendedLifetime((hub, claim)) {}
    }
  }

  @Test("R1 A hub whose queue is busy tells its members that it is alive, until there is another")
  func beats() async throws {
    try await withBus { folder in
      let hub = try PlainHub(in: folder, busID: 7)
      let own = try await RawMember.joined(folder, generation: 1)
      try await hub.whileBusy {
        for _ in 1...2 { hub.server.beat() }
        let claim = try #require(try folder.claim(2))
        for _ in 1...3 { hub.server.beat() }
        // The first beat finds that the hub works. The hub's own pings have a position.
        let beats = try await own.frames { _ in false }.filter { $0 == .ping(.none) }
        #expect(!beats.isEmpty)
        withExtendedLifetime(claim) {}
      }
    }
  }

  @Test("R1 A hub whose queue is busy goes on sending what it had begun to send")
  func sendsWhileBusy() async throws {
    try await withBus { folder in
      let hub = try PlainHub(in: folder, busID: 7)
      let reader = try await RawMember.joined(folder, generation: 1)
      let poster = try await RawMember.joined(folder, generation: 1, .init(2, subscriptions: []))
      let payload = [UInt8](repeating: 7, count: 60_000)
      for number in 1...8 as ClosedRange<UInt64> {
        poster.say(.message(Message(2, number, payload: payload)))
        _ = try await poster.frames { if case .sequenced = $0 { true } else { false } }
      }
      // More than the socket takes at once waits there, and more in the hub.
      let (isBusy, begin) = AsyncStream.makeStream(of: Void.self)
      let hasFifth = Locked(false)
      let reading = Task {
        for await _ in isBusy {}
        let first = try await reader.frames { $0.isMessage(5) }
        hasFifth.withLock { $0 = first.last?.isMessage(5) == true }
        return try await reader.frames { $0.isMessage(8) }
      }
      try await hub.whileBusy {
        begin.finish()
        let attempts = Attempts()
        while !hasFifth.withLock({ $0 }) {
          hub.server.beat()
          try await attempts.next("fifth message")
        }
        #expect(hasFifth.withLock { $0 })
      }
      #expect(try await reading.value.last?.isMessage(8) == true)
      withExtendedLifetime((hub, poster)) {}
    }
  }

  @Test("A hub that ends releases its connections, and tells nobody any more that it is alive")
  func beatsNoMore() async throws {
    try await withBus { folder in
      let hub = try PlainHub(in: folder, busID: 7)
      let own = try await RawMember.joined(folder, generation: 1)
      hub.server.queue.sync { hub.server.close() }
      _ = try await own.frames { _ in false }
      for _ in 1...2 { hub.server.beat() }
      #expect(try await own.hear() == nil)
      withExtendedLifetime(hub) {}
    }
  }

  @Test("R4 After a hub that has not opened in time, the next one waits longer for who lives")
  func waitsLonger() async throws {
    try await withBus { folder in
      let (claim, lock) = (try folder.claim(1), try folder.announce(9))
      let listener = try folder.listen(1)
      let relay = relay(folder)
      let attempts = Attempts()
      // The first hub ends when the relay has come, and never was open. The connection ends last, so that
      // the relay does not make another one to the same hub.
      var member = try listener.accepted()
      while member == nil {
        try await attempts.next("member")
        member = try listener.accepted()
      }
      withExtendedLifetime(consume listener) {}
      withExtendedLifetime(consume claim) {}
      withExtendedLifetime(member.take()) {}
      let link = try #require(relay.link as? MemberLink)
      while link.hub == nil { try await attempts.next("hub") }
      #expect(link.hub?.patience == 2 * SilenceLimits.patient.ofMembers)
      withExtendedLifetime((relay, lock)) {}
    }
  }

  @Test("What a member leaves in the folder is removed when its process has died")
  func removesLocks() async throws {
    try await withBus { folder in
      let hub = try PlainHub(in: folder, busID: folder.identify())
      let one = try await RawMember(folder, generation: 1)
      one.say(.hello(.init(1)))
      let two = try await RawMember(folder, generation: 1)
      // That of a dead process is not locked.
      try Data().write(to: URL(filePath: folder.path + "/member.2.lock"))
      two.say(.hello(.init(2)))
      _ = try await one.frames { $0.isJoined }
      two.close()
      _ = try await one.frames { $0.isLeft }
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      #expect(names.filter { $0.hasPrefix("member.") } == ["member.1.lock"])
      withExtendedLifetime(hub) {}
    }
  }

  @Test("R4 A hub continues the bus that its member was on, though the file of the bus was lost")
  func keepsTheBus() async throws {
    try await withBus { folder in
      var old: PlainHub? = try PlainHub(in: folder, busID: 7)
      #expect(try folder.identify() != 7)
      let own = try await RawMember.joined(folder, generation: 1)
      let new = relay(folder)
      _ = try await own.frames { $0.isJoined }
      old?.server.close()
      old = nil
      let watcher = try await RawMember(folder, generation: 2)
      watcher.say(.hello(.init(2)))
      #expect(try await watcher.hear() == .welcome(generation: 2, busID: 7))
      withExtendedLifetime((old, new)) {}
    }
  }

  @Test(
    "R4 When the files of a bus were deleted, the next hub follows the last one",
    arguments: [true, false])
  func goesOnWithoutFiles(isNewcomerFirst: Bool) async throws {
    try await withBus { folder in
      let hub = try PlainHub(7, in: folder, busID: 7)
      let own = try await RawMember.joined(folder, generation: 7)
      let member = relay(folder)
      _ = try await own.frames { $0.isJoined }
      try await member.flush()
      try? FileManager.default.removeItem(atPath: folder.path)
      var claim: FileLock?
      if isNewcomerFirst {
        try folder.prepare()
        claim = try folder.claim(1)
      }
      hub.server.close()
      withExtendedLifetime(hub) {}
      try await member.flush()
      try folder.prepare()
      // Another one, if the first took over while the rest of the files was being deleted.
      #expect(try folder.highestGeneration() >= 8)
      // The file of the member, which had been lost, is there again, at the latest after an hour: the
      // member may have joined before it was removed.
      let link = try #require(member.link as? MemberLink)
      link.queue.sync { link.renewFiles() }
      #expect(try folder.livingMembers().count == 1)
      withExtendedLifetime((member, claim)) {}
    }
  }

  @Test("R4 A hub ends when any later one is there")
  func endsForLater() async throws {
    try await withBus { folder in
      let hub = relay(folder)
      try await hub.flush()
      let member = try await RawMember.joined(folder, generation: 1)
      let claim = try #require(try folder.claim(8))
      while try await member.hear() != nil {}
      withExtendedLifetime((hub, claim)) {}
    }
  }
}
