import Testing

@testable import Campanile

@Suite("How much memory lists keep", .ownThread)
struct ListMemoryTests {
  let source = Broadcaster<Int>()

  private var capacity: Int { source.list.entries?.capacity ?? 0 }

  @Test("K16 A list gives its memory back when most of its registrations have ended")
  func shrinks() {
    var tokens = (0..<10_000).map { _ in source.observe { _ in } }
    // The youngest stays, so that the places before it cannot be trimmed from the end.
    tokens.removeFirst(9_999)
    #expect(source.list.count == 1)
    #expect(capacity <= 8)
    withExtendedLifetime(tokens) {}
  }
}
