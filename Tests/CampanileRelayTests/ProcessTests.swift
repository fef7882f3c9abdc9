import Foundation
import TestSupport
import Testing

@testable import CampanileRelay

/// What a process adds to a promise, among two processes; with all repetitions, among five too.
///
/// The suites with a `Kind` show the other promises.
@Suite("Relays of several processes", .serialized, .ownThread, .timeLimit(.long))
struct ProcessTests {
  /// How many processes there are.
  private static let sizes = Effort.some(1, of: [2, 5])

  @Test(
    "R1 What was flushed, each process has, and what was carried before is in force",
    arguments: sizes)
  func flush(count: Int) async throws { try await lastOne(of: count, after: "flush") }

  @Test(
    "R1 A hub whose process has no descriptors left says so to those it cannot let in, and stays the hub",
    arguments: Effort.some(1, of: [26, 27, 28]))
  func descriptors(limit: Int) async throws {
    try await withFolder { folder in
      let hub = try MemberProcess(
        ["/bin/sh", "-c", "ulimit -n \(limit); exec \"$0\" \"$@\""]
          + MemberProcess.command(folder, "hub"), "hub")
      try hub.carry()
      var (members, refused): ([MemberProcess], [MemberProcess]) = ([], [])
      for number in 1...6 {
        let member = try MemberProcess(folder, "m\(number)")
        let said = try member.ask("joined")
        if said == "joined connected" {
          try member.carry()
          members.append(member)
        } else {
          #expect(
            said.contains(
              "The process that passes messages on has no file descriptor left for another one."))
          refused.append(member)
        }
      }
      #expect(!members.isEmpty && !refused.isEmpty)
      try hub.ask("post 100")
      _ = try ([hub] + members).rest()
      for member in members { #expect(try member.report().heard == ["hub": .all(100)]) }
      #expect(try BusFolder(bus: "test", in: folder.path).highestGeneration() == 1)
      // Once, and once more for each process that was let in meanwhile.
      let reports = try hub.events().filter {
        $0.contains(" refused ") && $0.contains("A process could not be let in.")
          && $0.hasSuffix("Too many open files.")
      }
      let count = reports.first.flatMap { Int($0.prefix { $0 != " " }) } ?? 0
      #expect(reports.count == 1 && 1...6 ~= count)
      // When one leaves, another one is let in. Only one is left that can be.
      for other in refused.dropFirst() { other.kill() }
      members.removeLast().kill()
      try refused[0].ask("flush")
    }
  }

  @Test("R3 Nothing comes back along bridges and two buses", arguments: sizes)
  func echo(count: Int) async throws {
    try await withFolder { folder in
      let members = try [MemberProcess].start(count, in: folder)
      for member in members { try member.ask("bridge second") }
      // Half of them are of the type that the bridges carry.
      try members[0].ask("post 20")
      // A message passes six relays and bridges at the most.
      for _ in 0..<6 { for member in members { try member.ask("flush") } }
      // One comes on the first bus; one over the poster's bridges; and from each of the others, which
      // it may reach on either bus and leave on the other one.
      let ways = 2 + 2 * (count - 2)
      for member in members {
        let heard = try #require(try member.report().heard["m0"])
        #expect(heard.calls == (member === members[0] ? 20 : 10 + 10 * ways), "\(member.name)")
      }
    }
  }

  @Test(
    "R6 R7 What a stopped process misses beyond its buffer is counted, and nobody else misses it",
    arguments: ["newest", "oldest"], sizes)
  func slow(policy: String, count: Int) async throws {
    try await withFolder { folder in
      let silence = SilenceLimits(ofHub: 600, ofMembers: 5)
      let quick = try [MemberProcess].start(count - 1, in: folder, silence: silence)
      let slow = try MemberProcess(folder, "slow", silence: silence, policy, "65536")
      try slow.carry()
      slow.signal(SIGSTOP)
      try quick[0].ask("post 500 10000")
      try quick[0].ask("flush")
      slow.signal(SIGCONT)
      let members = quick + [slow]
      _ = try members.rest()
      try quick[0].ask("post 1")
      _ = try members.rest()
      for member in quick {
        #expect(try member.report().heard["m0"] == .all(501))
        #expect(try member.events() == [])
      }
      let heard = try #require(try slow.report().heard["m0"])
      #expect(heard.first == 1 && heard.last == 501 && heard.disorders == 0)
      #expect(heard.calls + heard.gaps == 501)
      if policy == "newest" {
        // Each takes more than its padding.
        let kept = 500 - heard.resumed + 1
        #expect(kept > 0 && kept * 10_000 <= 65_536)
      } else {
        #expect(heard.resumed == 501)
      }
      #expect(heard.gaps > 300)
      let reason =
        "- This process took less than was sent, or was away for longer than others keep messages."
      let events = try slow.events()
      #expect(
        events == [
          "\(heard.gaps - heard.oddGaps) lost count.m0 m0 \(reason)",
          "\(heard.oddGaps) lost odd.m0 m0 \(reason)",
        ])
    }
  }

  @Test(
    "R9 Nothing is heard once a relay was canceled or released, or the carrying stopped",
    arguments: ["cancel", "release", "stopCarrying"], sizes)
  func ended(way: String, count: Int) async throws {
    try await withFolder { folder in
      let members = try [MemberProcess].start(count, in: folder)
      let ended = members[1]
      // Its observer is in a call while the other messages are there already.
      try ended.ask("hold 1")
      try members[0].ask("post 100")
      try members[0].ask("flush")
      try ended.ask("held")
      try ended.ask("end \(way)")
      try members[0].ask("post 100")
      try ended.ask("post 100")
      try members[0].ask("flush")
      try ended.ask("letgo")
      try ended.ask(way == "stopCarrying" ? "flush" : "over")
      #expect(try ended.report().heard == ["m0": .all(1), "m1": .all(100)])
      let others = members.filter { $0 !== ended }
      _ = try others.rest()
      for member in others { #expect(try member.report().heard == ["m0": .all(200)]) }
    }
  }

  @Test("R10 postAndWait returns when each present process has the message", arguments: sizes)
  func wait(count: Int) async throws { try await lastOne(of: count, after: "wait") }

  @Test(
    "R1 R10 Nobody waits for a process that is stopped, which misses nothing",
    arguments: ["flush", "wait"], sizes)
  func stopped(command: String, count: Int) async throws {
    try await withFolder { folder in
      let silence = SilenceLimits(ofHub: 600, ofMembers: 5)
      let members = try [MemberProcess].start(count, in: folder, silence: silence)
      let stopped = members[count - 1]
      stopped.signal(SIGSTOP)
      try members[0].ask("post 1000")
      try members[0].ask(command)
      stopped.signal(SIGCONT)
      _ = try members.rest()
      for member in members {
        #expect(try member.report().heard == ["m0": .all(command == "wait" ? 1_001 : 1_000)])
        #expect(try member.events() == [])
      }
    }
  }

  /// Kills all but one after one has waited: whoever is left has what was posted before.
  private func lastOne(of count: Int, after command: String) async throws {
    for survivor in stride(from: 1, to: count, by: Effort.times(3, long: 1)) {
      try await withFolder { folder in
        var members = try [MemberProcess].start(count, in: folder)
        let (poster, left) = (members[0], members.remove(at: survivor))
        try poster.ask("post 300 10000")
        try poster.ask(command)
        // First the hub: nobody passes on what the others have.
        for member in members { member.signal(SIGSTOP) }
        for member in members { member.kill() }
        try left.ask("flush")
        #expect(try left.report().heard["m0"] == .all(command == "wait" ? 301 : 300))
      }
    }
  }
}
