#if DEBUG
  import Testing

  @testable import Campanile

  /// A post that announces itself while a canceller is between two looks at the frames.
  @Suite("Between two looks at the frames")
  struct ScanTests {
    let hold = EngineGate()
    let inside = Gate()

    // Broken by: ObserverRegistry.scan, if it does not set the bit again that it forgot too early.
    @Test(
      "K3 K16 A post that began while its thread was being forgotten is seen by the next canceller")
    func forgotten() {
      let source = Broadcaster<Int>(heldBy: hold)
      let life = LiveCount()
      let again = Gate()
      let first = source.observe { [inside] in if $0 == 1 { inside.pass() } }
      let other = source.observe { _ in }
      let second = Self.observe(source, life)
      let poster = onThread {
        // From here on the source knows the thread.
        source.send(0)
        again.pass()
        source.send(1)
      }
      again.waitUntilReached()
      hold.arm(at: .willForget)
      let canceller = onThread { other.cancel() }
      hold.gate.waitUntilReached()
      again.open()
      inside.waitUntilReached()
      hold.gate.open()
      canceller()
      #expect(second.cancel() == .endedWhileMaybeRunning)
      #expect(life.current == 1)
      inside.open()
      poster()
      #expect(life.current == 0)
      withExtendedLifetime(first) {}
    }

    // Broken by: ObserverRegistry.end, if it does not read the frames again after `shrink`.
    @Test("K16 A post that began after the frames were read keeps the memory it walks")
    func shrunk() {
      let source = Broadcaster<Int>(heldBy: hold)
      let first = source.observe { [inside] in if $0 == 1 { inside.pass() } }
      var others = (0..<32).map { _ in source.observe { _ in } }
      let last = source.observe { _ in }
      // One more removal and the buffer is a quarter full.
      weak let buffer = source.list.currentBuffer
      while source.list.count * 4 > (buffer?.capacity ?? 0) { others.removeFirst() }
      #expect(buffer === source.list.currentBuffer)
      hold.arm(at: .willShrink)
      let token = others.removeFirst()
      let canceller = onThread { token.cancel() }
      hold.gate.waitUntilReached()
      let poster = onThread { source.send(1) }
      inside.waitUntilReached()
      hold.gate.open()
      canceller()
      #expect(buffer !== source.list.currentBuffer)
      #expect(buffer != nil)
      inside.open()
      poster()
      #expect(buffer == nil)
      withExtendedLifetime((first, others, last, token)) {}
    }

    private static func observe(_ source: Broadcaster<Int>, _ life: LiveCount) -> ObservationToken {
      let tracked = Tracked(life)
      return source.observe { _ in tracked.touch() }
    }
  }
#endif
