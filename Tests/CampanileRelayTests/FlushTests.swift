import Campanile
import CampanileTesting
import Foundation
import TestSupport
import Testing

@testable import CampanileRelay

/// What a flush, and a post that waits, wait for on one host.
///
/// A member that the system leaves no time for half a second counts as stopped, and nobody waits for
/// it. So each test has some attempts.
@Suite(.timeLimit(.long))
struct FlushTests {
  // Broken by: RelayCore.flush, if it does not wait.
  @Test("R1 When a flush returns, the others have what was posted", arguments: Kind.allCases)
  func flushed(kind: Kind) async throws {
    try await someAttempts(orElse: "Nobody has waited") {
      try await haveAll(kind) { poster, numbers in
        poster.post(numbers)
        try await poster.relay.flush()
      }
    }
  }

  // Broken by: CarriedWay.carryOut, if the message holds no delivery of its post.
  @Test("R10 When postAndWait returns, the others have the message", arguments: Kind.allCases)
  func postedAndWaited(kind: Kind) async throws {
    try await someAttempts(orElse: "Nobody has waited") {
      try await haveAll(kind) { poster, numbers in
        poster.post(numbers.dropLast())
        try await poster.center.postAndWait(Tick(number: numbers.last!))
      }
    }
  }

  // Broken by: Inbox.mayDeliver, if it does not say that something is delivered.
  @Test("R1 A flush waits for a process that is slow and goes on", arguments: Kind.allCases)
  func slowObserver(kind: Kind) async throws {
    try await someAttempts(orElse: "Nobody has waited") {
      try await waitsForSlowObserver(kind)
    }
  }

  /// Whether two members have all that a third one posted, each time that it has waited.
  private func haveAll(
    _ kind: Kind, after wait: (Member, ClosedRange<Int>) async throws -> Void
  ) async throws -> Bool {
    try await kind.withBus { bus in
      // Five ticks without a word are half a second, or less if the first one is late. They may
      // begin in one round and end in the next.
      let (clock, silence) = (ContinuousClock(), Duration.milliseconds(300))
      var (before, start, mayHaveStopped) = (clock.now, clock.now, false)
      let (poster, others) = (Member(bus), [Member(bus), Member(bus)])
      for member in [poster] + others { try await member.relay.flush() }
      for round in 0..<20 {
        try await wait(poster, round * 100 + 1...round * 100 + 100)
        if clock.now - before >= silence { mayHaveStopped = true }
        (before, start) = (start, clock.now)
        for member in others {
          // A link says that it has something just before it hands it over.
          member.relay.link.queue.sync {}
          await member.relay.core.finishDeliveries()
          let (heard, posted) = (member.ticks.values, Array(1...(round + 1) * 100))
          // The last ones may be missing in an attempt, and no others.
          #expect(heard == Array(posted.prefix(heard.count)))
          if heard.count < posted.count {
            try #require(mayHaveStopped)
            return false
          }
        }
      }
      return true
    }
  }

  /// Whether a flush waits while an observer takes three seconds for what was posted.
  private func waitsForSlowObserver(_ kind: Kind) async throws -> Bool {
    try await kind.withBus { bus in
      let (poster, listener) = (Member(bus), Member(bus))
      for member in [poster, listener] { member.relay.carry(Load.self, in: member.center) }
      let heard = Locked(0)
      let isOver = Locked(false)
      let token = listener.center.observe(Load.self) { _ in
        if !isOver.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.01) }
        heard.withLock { $0 += 1 }
      }
      for member in [poster, listener] { try await member.relay.flush() }
      for _ in 1...300 { poster.center.post(Load(byteCount: 10_000)) }
      try await poster.relay.flush()
      isOver.withLock { $0 = true }
      token.cancel()
      // What the process has received and not told waits: at most a megabyte, and what was read at once.
      return heard.withLock { $0 } >= 150
    }
  }
}
