import Testing

@testable import Campanile

@Suite("What dead owners leave behind", .ownThread)
struct OwnerMemoryTests {
  private final class Screen: Sendable {}

  private final class Deck: LifetimeOwner {
    let lifetime = Lifetime()
  }

  @Test(
    "K8 Closures of dead owners are never more than a constant factor of the live ones",
    arguments: [1, 2, 8], [0, 100])
  func sweep(width: Int, living: Int) {
    let center = MessageCenter()
    let life = LiveCount()
    let calls = LiveCount()
    let screens = (0..<living).map { _ in Screen() }
    for screen in screens { Self.observe(center, screen, life, calls) }
    // A thread that looks for dead owners holds what it looks at.
    let limit = 4 * (living + 32) * (width + 1)
    let excess = LiveCount()
    onThreads(width) { _ in
      for _ in 0..<(Effort.times(4_000, long: 20_000) / width) {
        Self.observe(center, Screen(), life, calls)
        if life.current > limit { excess.increment() }
      }
    }
    #expect(excess.current == 0)
    center.post(Tick(number: 0))
    #expect(calls.current == living)
    // The post has met what was dead and ended it.
    #expect(life.current == living)
    withExtendedLifetime(screens) {}
  }

  @Test("K8 An owner that was alive at first is looked at again")
  func laterDeath() {
    let center = MessageCenter()
    let (life, calls) = (LiveCount(), LiveCount())
    var screens = (0..<1_000).map { _ in Screen() }
    for screen in screens { Self.observe(center, screen, life, calls) }
    for _ in 0..<10_000 { Self.observe(center, Screen(), life, calls) }
    screens = []
    for _ in 0..<10_000 { Self.observe(center, Screen(), life, calls) }
    #expect(life.current < 256)
  }

  @Test(
    "K8 K16 Registrations that have ended are not kept for a look at their owners",
    arguments: [0, 100])
  func ended(living: Int) {
    let center = MessageCenter()
    let (life, calls) = (LiveCount(), LiveCount())
    let screens = (0..<living).map { _ in Screen() }
    for screen in screens { Self.observe(center, screen, life, calls) }
    // Their registrations end with them, before anybody looks.
    for _ in 0..<20_000 { Self.observe(center, Deck(), life, calls) }
    #expect(life.current == living)
    #expect(center.registry.withState { $0.ownerSweep.count } <= 4 * (living + 8))
    withExtendedLifetime(screens) {}
  }

  private static func observe(
    _ center: MessageCenter, _ owner: some AnyObject & Sendable, _ life: LiveCount,
    _ calls: LiveCount
  ) {
    let tracked = Tracked(life)
    center.observe(Tick.self, owner: owner) { _, _ in
      tracked.touch()
      calls.increment()
    }
  }

  @Test(
    "K8 K16 An owner that dies during a post is not called, and its closure goes with the post",
    arguments: widths)
  func duringPost(width: Int) {
    let center = MessageCenter()
    let life = LiveCount()
    let calls = LiveCount()
    let gate = Gate()
    let deck = Locked<Deck?>(Deck())
    let first = center.observe(Tick.self) { _ in gate.pass() }
    Self.observe(center, deck.withLock { $0! }, life, calls)
    let waits = (0..<width).map { index in onThread { center.post(Tick(number: index)) } }
    gate.waitUntilReached(by: width)
    deck.withLock { $0 = nil }
    #expect(life.current == 1)
    #expect(center.observerCount == 1)
    gate.open()
    for wait in waits { wait() }
    #expect(life.current == 0)
    #expect(calls.current == 0)
    withExtendedLifetime(first) {}
  }
}
