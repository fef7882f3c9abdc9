import Campanile
import CampanileInspector
import TestSupport
import Testing

@Suite("The totals of a trace", .ownThread)
struct TypeTotalsTests {
  private struct Struck: MessageCenter.Message {}
  private struct Swung: MessageCenter.Message {}
  private struct Failure: Error {}

  @Test("All events count, also those that have given way")
  func counts() throws {
    let center = MessageCenter(label: "tower")
    let held = ManualTarget()
    let tokens = [
      center.observe(Struck.self) { _ in },
      center.observe(Struck.self) { _ in throw Failure() },
      center.observe(Struck.self, on: held.delivery.buffered(.oldest(1))) { _ in },
      center.observe(Swung.self) { _ in },
    ]
    tokens[3].pause()
    let trace = Trace(of: center, last: 1)
    for _ in 0..<10 { center.post(Struck()) }
    center.post(Swung())

    #expect(trace.totals.count == 2)
    let struck = try #require(trace.totals.first)
    #expect(ObjectIdentifier(struck.valueType) == ObjectIdentifier(Struck.self))
    #expect(struck.source == "MessageCenter tower")
    #expect((struck.postCount, struck.callCount, struck.failureCount) == (10, 20, 10))
    #expect((struck.droppedCount, struck.skippedCount) == (9, 0))
    let expected = """
      Struck at MessageCenter tower: 10 posts, 20 calls, 9 dropped, 10 failed
      Swung at MessageCenter tower: 1 posts, 0 calls, 1 skipped
      """
    #expect("\(trace.totals)" == expected)
    withExtendedLifetime(tokens) {}
  }
}
