import CampanileRelay
import Foundation
import TestSupport
import Testing

/// Processes that are killed and stopped while all post.
@Suite("R4 Processes that die or stop under load", .serialized, .ownThread, .timeLimit(.long))
struct KillTests {
  enum Victim: CaseIterable, Sendable {
    case hub
    case member
  }

  @Test(
    "R4 One is killed under load: nothing is lost for the living, and all is in order",
    arguments: Victim.allCases, [3, 5])
  func killed(victim: Victim, count: Int) async throws {
    try await withFolder { folder in
      var members = try [MemberProcess].start(count, in: folder)
      for round in 0..<Effort.times(2, long: 5) {
        try members.load()
        let killed = members.remove(at: try members.place(ofHub: victim == .hub))
        killed.kill()
        let posted = try members.rest()
        try members.check(posted: posted, dead: [killed.name])
        let new = try MemberProcess(folder, "n\(round)")
        try new.carry()
        members.append(new)
      }
    }
  }

  @Test("R4 Hub and member are killed together under load: nothing is lost for the living")
  func killedTogether() async throws {
    try await withFolder { folder in
      var members = try [MemberProcess].start(5, in: folder)
      try members.load()
      let killed = [members.remove(at: try members.place(ofHub: true)), members.removeLast()]
      for member in killed { member.signal(SIGKILL) }
      for member in killed { member.kill() }
      let posted = try members.rest()
      try members.check(posted: posted, dead: Set(killed.map(\.name)))
    }
  }

  @Test("One of a group is killed with messages in hand, and its hub: others take each of them")
  func groups() async throws {
    try await withFolder { folder in
      let hub = try MemberProcess(folder, "hub")
      try hub.ask("flush")
      let poster = try MemberProcess(folder, "m0")
      try poster.ask("carry out")
      let workers = try (1...3).map { number in
        let worker = try MemberProcess(folder, "w\(number)")
        try worker.ask("share workers")
        try worker.ask("flush")
        return worker
      }
      // Each has some in hand, and begins with none of them.
      for worker in workers { try worker.ask("hold -1") }
      try poster.ask("post 100")
      for worker in workers { try worker.ask("held") }
      hub.kill()
      workers[0].kill()
      for worker in workers.dropFirst() {
        try worker.ask("hold 0")
        try worker.ask("letgo")
      }
      try poster.ask("post 100")
      let living = Array(workers.dropFirst())
      let heard = try living.numbers(of: "m0", upTo: 200)
      #expect(Set(1...200).subtracting(heard).sorted() == [])
      #expect(try poster.events() == [])
    }
  }

  @Test("R4 The hub is stopped: the others go on, and it misses nothing", arguments: [2, 5])
  func hubStopped(count: Int) async throws {
    try await withFolder { folder in
      let members = try [MemberProcess].start(count, in: folder, silence: SilenceLimits())
      // On a busy machine it takes seconds until it goes on, and the others keep 8 megabytes.
      try members.load(every: 5_000)
      let stopped = members[try members.place(ofHub: true)]
      stopped.signal(SIGSTOP)
      let others = members.filter { $0 !== stopped }
      // Each flush waits for a hub that works; the old one does for as long as it takes to stop it.
      repeat {
        for member in others { try member.ask("flush") }
      } while try !others.contains { try $0.isHub }
      stopped.signal(SIGCONT)
      try stopped.ask("flush")
      let posted = try members.rest()
      try members.check(posted: posted)
    }
  }
}
