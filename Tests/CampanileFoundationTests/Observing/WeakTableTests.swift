import Testing

@testable import CampanileFoundation

@Suite("Tables that keep nothing")
struct WeakTableTests {
  private let live = LiveCount()

  // Broken by: WeakTable.insert, if it does not purge, or forgets who lives.
  @Test("K16 what has gone takes no more room than what lives", arguments: [0, 10, 200])
  func purge(livingCount: Int) {
    var table = WeakTable<Int, Tracked>(purgingFrom: 8)
    let living = (0..<livingCount).map { _ in Tracked(live) }
    for (key, tracked) in living.enumerated() { _ = table.insert(tracked, for: key) }
    for key in livingCount..<10_000 {
      _ = table.insert(Tracked(live), for: key)
      #expect(table.count <= max(8, livingCount * 2 + 1))
    }
    for (key, tracked) in living.enumerated() { #expect(table[key] === tracked) }
    #expect(live.current == livingCount)
  }

  @Test("What was looked at is handed out, for the caller to let go of")
  func lookedAt() {
    var table = WeakTable<Int, Tracked>(purgingFrom: 2)
    let one = Tracked(live)
    #expect(table.insert(one, for: 1).isEmpty)
    #expect(table.insert(Tracked(live), for: 2).isEmpty)
    #expect(table[2] == nil)
    let seen = table.insert(one, for: 3)
    #expect(seen.count == 1 && seen.first === one)
    #expect(table.count == 2)
    #expect(table.purge().count == 2)
  }
}
