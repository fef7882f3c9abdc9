import Testing

@testable import Campanile

@Suite("What a thread knows about its posts", .ownThread)
struct ThreadRecordTests {
  /// How many posts in progress name `registry`, on any thread.
  private static func postsInProgress(at registry: ObserverRegistry) -> Int {
    var count = 0
    unsafe ThreadRecord.forEachPost(of: .max) { _, source, _, _ in
      if source & ~Reservation.ticketFlag == registry.address { count += 1 }
    }
    return count
  }

  /// A broadcaster whose observer sends again until it is nested `depth` deep, and there calls
  /// `deepest`.
  private func makeNesting(
    depth: Int, _ life: LiveCount, _ deepest: @escaping @Sendable () -> Void
  ) -> (Broadcaster<Int>, ObservationToken) {
    let source = Broadcaster<Int>()
    let tracked = Tracked(life)
    let token = source.observe { [weak source] level in
      tracked.touch()
      if level == depth { deepest() } else { source?.send(level + 1) }
    }
    return (source, token)
  }

  @Test(
    "K7 Each nested post has a reservation of its own, however deep",
    arguments: [1, 2, 7, 8, 9, 16, 17, 40],
    widths)
  func nesting(depth: Int, width: Int) {
    let life = LiveCount()
    let gate = Gate()
    let (source, token) = makeNesting(depth: depth, life) { gate.pass() }
    let waits = (0..<width).map { _ in onThread { source.send(1) } }
    gate.waitUntilReached(by: width)
    #expect(Self.postsInProgress(at: source.registry) == depth * width)
    gate.open()
    for wait in waits { wait() }
    #expect(Self.postsInProgress(at: source.registry) == 0)
    token.cancel()
    #expect(life.current == 0)
  }

  @Test(
    "K3 K16 A closure that ends in the deepest of nested posts is kept until the outermost has left",
    arguments: [1, 8, 9, 17], widths)
  func endInNesting(depth: Int, width: Int) {
    let life = LiveCount()
    let gate = Gate()
    let (source, token) = makeNesting(depth: depth, life) { gate.pass() }
    let waits = (0..<width).map { _ in onThread { source.send(1) } }
    gate.waitUntilReached(by: width)
    #expect(token.cancel() == .endedWhileMaybeRunning)
    #expect(life.current == 1)
    gate.open()
    for wait in waits { wait() }
    #expect(life.current == 0)
    source.send(depth)
    #expect(life.current == 0)
  }

  @Test(
    "K3 A cancel inside the observer, however deep, says that no other thread is in it",
    arguments: [1, 8, 9, 17], widths)
  func endItself(depth: Int, width: Int) {
    onThreads(width) { _ in
      let life = LiveCount()
      let token = Locked<ObservationToken?>(nil)
      let result = Recorder<Registration.Cancellation>()
      let (source, made) = makeNesting(depth: depth, life) {
        result.record(token.withLock { $0! }.cancel())
      }
      token.withLock { $0 = made }
      source.send(1)
      #expect(result.values == [.ended])
      #expect(life.current == 0)
      token.withLock { $0 = nil }
    }
  }

  @Test("K4 K16 The posts of more threads than a mask has bits are all seen")
  func manyThreads() {
    let source = Broadcaster<Int>()
    let life = LiveCount()
    let gates = (0..<200).map { _ in Gate() }
    let token = observe(source, life) { gates[$0].pass() }
    let waits = (0..<200).map { index in onThread { source.send(index) } }
    for gate in gates { gate.waitUntilReached() }
    #expect(Self.postsInProgress(at: source.registry) == 200)
    #expect(token.cancel() == .endedWhileMaybeRunning)
    let resumed = LiveCount()
    source.registry.end(token.registration) { resumed.increment() }
    for index in 0..<200 {
      #expect(life.current == 1)
      #expect(resumed.current == 0)
      gates[index].open()
      waits[index]()
    }
    #expect(life.current == 0)
    #expect(resumed.current == 1)
    #expect(Self.postsInProgress(at: source.registry) == 0)
  }

  private func observe(
    _ source: Broadcaster<Int>, _ life: LiveCount, _ body: @escaping @Sendable (Int) -> Void
  ) -> ObservationToken {
    let tracked = Tracked(life)
    return source.observe {
      tracked.touch()
      body($0)
    }
  }

  #if canImport(Glibc)
    @Test("K16 A thread that ends gives its record back, and a later thread posts with it")
    func reuse() async {
      // In a process of its own, whose only threads that post are these.
      await #expect(processExitsWith: .success) {
        let source = Broadcaster<Int>()
        let ids = Recorder<UInt>()
        let token = source.observe { _ in ids.record(CallingThread.id) }
        for index in 0..<2_000 { onEndedThreads { source.send(index) } }
        #expect(ids.count == 2_000)
        #expect(Set(ids.values).count == 1)
        #expect(token.cancel() == .ended)
      }
    }
  #endif
}
