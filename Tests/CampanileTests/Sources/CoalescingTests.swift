import Testing

@testable import Campanile

/// What a guide shows: how to keep a screen up to date without drawing every change.
@Suite("Showing no more than a screen can draw", .ownThread)
struct CoalescingTests {
  private struct Progressed: MessageCenter.Message {
    var file: String
    var percent: Int
  }

  /// Shows progress at most thirty times a second, the last of each file always.
  private actor ProgressList {
    private nonisolated let pending = CurrentValue<[String: Int]>([:])
    private(set) var shown: [String: Int] = [:]
    private(set) var drawings = 0

    nonisolated func follow(_ center: MessageCenter) {
      center.observe(Progressed.self, owner: self) { list, message in
        list.pending.update { $0[message.file] = message.percent }
      }
    }

    func run(by clock: some Clock<Duration>) async throws {
      for await waiting in pending.values(buffering: .newest(1), options: .initial)
      where !waiting.isEmpty {
        let newest = pending.update { pending in
          defer { pending = [:] }
          return pending
        }
        shown.merge(newest) { $1 }
        drawings += 1
        try await clock.sleep(for: .milliseconds(33))
      }
    }
  }

  @Test("A burst is drawn once in an interval, by key, and the last of each key is never lost")
  func coalesces() async throws {
    let (center, clock, list) = (MessageCenter(), VirtualClock(), ProgressList())
    list.follow(center)
    let task = Task { try await list.run(by: clock) }
    for percent in 0...100 {
      for file in ["a", "b"] { center.post(Progressed(file: file, percent: percent)) }
    }
    try await clock.waitForSleepers(within: patience)
    #expect(await list.drawings == 1)
    for percent in 101...200 { center.post(Progressed(file: "a", percent: percent)) }
    center.post(Progressed(file: "c", percent: 1))
    #expect(await list.drawings == 1)
    clock.advance(by: .milliseconds(33))
    try await clock.waitForSleepers(within: patience)
    #expect(await list.drawings == 2)
    #expect(await list.shown == ["a": 200, "b": 100, "c": 1])
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
