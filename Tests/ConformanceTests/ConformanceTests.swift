import Foundation
import TestSupport
import Testing

@testable import conformance

/// The contract's promises, put to every implementation.
@Suite("Conformance", .ownThread, .serialized)
struct ConformanceTests {
  /// A promise that an implementation breaks, as it must for the comparison to say anything.
  private struct ExpectedBreak: Hashable {
    let implementation: String
    let promise: Int
    let sentence: String

    init(_ implementation: String, _ promise: Int, _ sentence: String) {
      self.implementation = implementation
      self.promise = promise
      self.sentence = sentence
    }
  }

  private static let expectedBreaks: Set<ExpectedBreak> = [
    // Foundation's interface has it so, and the replacement keeps to it.
    .init("CampanileNotificationCenter", 10, "A post does not wait for another queue"),

    .init("Foundation", 1, "A handle that is used again ends no other registration"),
    .init("Foundation", 3, "Nothing is delivered after `cancel`, not even what was queued"),
    .init("Foundation", 3, "An observer that is ended during a post, before its turn, is skipped"),
    .init("Foundation", 5, "Observers are called in the order in which they registered"),
    .init("Foundation", 5, "Removals leave the order of the rest as it was"),
    .init(
      "Foundation", 5, "Observers of one subject, of any, and of all messages share one order"),
    .init(
      "Foundation", 5, "Observers on one queue are called in the order in which they registered"),
    .init("Foundation", 7, "No lock is held while what an observer captured is released"),
    .init("Foundation", 9, "A new object is not taken for a dead subject at its address"),
    .init("Foundation", 10, "A post does not wait for another queue"),

    .init(
      "Dictionary under a mutex", 3, "Nothing is delivered after `cancel`, not even what was queued"
    ),
    .init(
      "Dictionary under a mutex", 3,
      "An observer that is ended during a post, before its turn, is skipped"),
    .init(
      "Dictionary under a mutex", 5,
      "Observers of one subject, of any, and of all messages share one order"),
    .init(
      "Dictionary under a mutex", 7, "No lock is held while what an observer captured is released"),
    .init(
      "Dictionary under a mutex", 9, "A new object is not taken for a dead subject at its address"),
    .init(
      "Dictionary under a mutex", 11, "A post on the queue itself is delivered before it returns"),
  ]

  // Where addresses are not used again, nobody can be taken for a dead subject.
  @Test(
    "Each implementation keeps what it is expected to keep, and breaks what is listed",
    .enabled(if: reusesAddresses()))
  func matrix() async throws {
    // On a thread of its own: scenarios wait for tasks, which need the threads that tests run on.
    let matrix = await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: Matrix.make()) }
    }
    var unused = Self.expectedBreaks
    for row in matrix.rows {
      for (implementation, verdict) in zip(Implementation.all, row.verdicts) {
        let expected = ExpectedBreak(
          implementation.name, row.scenario.promise, row.scenario.sentence)
        if unused.remove(expected) != nil {
          #expect(verdict.isBroken, "\(expected) is \(verdict), and is listed as broken")
        } else {
          #expect(!verdict.isBroken, "\(expected): \(verdict)")
        }
      }
    }
    #expect(unused.isEmpty, "Listed, and no scenario")
    // The page of the documentation is made from this by scripts/conformance --update.
    let page = try String(contentsOf: Self.page, encoding: .utf8)
    #expect(page.hasSuffix("\n" + matrix.markdown), "Run scripts/conformance --update")
  }

  private static var page: URL {
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(
        path: "Sources/Campanile/Campanile.docc/Reference/Conformance.md")
  }

  @Test("Every promise has a scenario, and every scenario an implementation that it applies to")
  func complete() {
    #expect(Set(Scenario.all.map(\.promise)) == Set(1...16))
    #expect(Set(Scenario.all.map(\.sentence)).count == Scenario.all.count)
    for scenario in Scenario.all {
      #expect(Implementation.all.contains { scenario.needs.isSubset(of: $0.abilities) })
    }
  }
}
