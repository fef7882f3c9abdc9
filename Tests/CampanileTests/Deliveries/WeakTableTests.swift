import Testing

@testable import Campanile

@Suite("Tables that keep nothing", .ownThread)
struct WeakTableTests {
  private let live = LiveCount()

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
    withExtendedLifetime(living) {}
  }
}

@Suite("Actors as places", .ownThread)
struct ActorTargetTests {
  private actor Desk {}

  @Test(
    "K5 everybody who names one actor gets one target, and another actor another",
    arguments: [2, 8])
  func identity(width: Int) {
    let (desk, other) = (Desk(), Desk())
    let targets = Recorder<ObjectIdentifier>()
    let kept = TaskTarget.of(desk)
    onThreads(width) { _ in targets.record(ObjectIdentifier(TaskTarget.of(desk))) }
    #expect(targets.values == Array(repeating: ObjectIdentifier(kept), count: width))
    #expect(TaskTarget.of(other) !== kept)
    withExtendedLifetime((kept, desk, other)) {}
  }

  @Test("K16 the table of actors does not grow with those that do not observe", arguments: [2, 8])
  func table(width: Int) {
    let center = MessageCenter()
    onThreads(width) { _ in
      // All kept: an actor that has gone would leave its address, and so its place, to the next.
      let desks = (0..<1_000).map { _ in Desk() }
      for desk in desks { center.observe(Tick.self, on: desk) { _, _ in }.cancel() }
      withExtendedLifetime(desks) {}
    }
    // Other tests use actors meanwhile, though not as many.
    #expect(TaskTarget.table.withLock { $0.count } < 1_000)
  }
}
