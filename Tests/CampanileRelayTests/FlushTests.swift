import Campanile
import Dispatch
import TestSupport
import Testing

@testable import CampanileRelay

/// What a flush, and a post that waits, wait for on one host.
@Suite(.ownThread, .timeLimit(.long))
struct FlushTests {
  @Test("R1 When a flush returns, the others have what was posted", arguments: Kind.ofOneHost)
  func flushed(kind: Kind) async throws {
    try await expectAll(kind) { poster, numbers in
      poster.post(numbers)
      try await poster.relay.flush()
    }
  }

  @Test("R10 When postAndWait returns, the others have the message", arguments: Kind.ofOneHost)
  func postedAndWaited(kind: Kind) async throws {
    try await expectAll(kind) { poster, numbers in
      poster.post(numbers.dropLast())
      try await poster.center.postAndWait(Tick(number: numbers.last!))
    }
  }

  /// Expects that two members have all that a third one posted, each time that it has waited.
  private func expectAll(
    _ kind: Kind, after wait: (Member, ClosedRange<Int>) async throws -> Void
  ) async throws {
    try await kind.withBus { bus in
      let (poster, others) = (Member(bus), [Member(bus), Member(bus)])
      for member in [poster] + others { try await member.relay.flush() }
      for round in 0..<20 {
        try await wait(poster, round * 100 + 1...round * 100 + 100)
        for member in others {
          // A link says that it has something just before it hands it over.
          member.relay.link.queue.sync {}
          await member.relay.core.finishDeliveries()
          #expect(member.ticks.values == Array(1...(round + 1) * 100))
        }
      }
    }
  }
}
