import Synchronization
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

  @Test("What a thread writes at each post stands on lines of its own", arguments: widths)
  func lines(width: Int) {
    let addresses = Recorder<UInt>()
    onThreads(width) { _ in addresses.record(ThreadRecord.currentID) }
    #expect(addresses.count == width)
    #expect(addresses.values.allSatisfy { $0 % 128 == 0 })
    #expect(MemoryLayout<ThreadRecord>.size <= 128)
    #expect(MemoryLayout<Reservation>.size <= 128)
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

  /// The addresses of the reservations of the calling thread that a scan finds open.
  private static func openReservations() -> [UInt] {
    var reservations: [UInt] = []
    unsafe ThreadRecord.forEachPost(of: .max) { reservation, _, thread, _ in
      if thread != ThreadRecord.addressInScans { return }
      reservations.append(UInt(bitPattern: reservation))
    }
    return reservations
  }

  @Test("K16 One deep nesting makes no later scan longer", arguments: [1, 9, 16, 17, 500])
  func deepNesting(depth: Int) {
    let deepest = Recorder<[UInt]>()
    let (source, token) = makeNesting(depth: depth, LiveCount()) {
      deepest.record(Self.openReservations())
    }
    onThread {
      for _ in 0..<3 {
        source.send(1)
        #expect(Self.openReservations().isEmpty)
      }
    }()
    #expect(Set(deepest.values[0]).count == depth)
    #expect(deepest.values.allSatisfy { $0 == deepest.values[0] })
    token.cancel()
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

  @Test("An end spares the next one from looking at threads that are outside")
  func forgotten() {
    let source = Broadcaster<Int>()
    let tokens = (0..<2).map { _ in source.observe { _ in } }
    onThreads(8) { _ in source.send(1) }
    #expect(source.registry.mask.load(ordering: .relaxed) != 0)
    tokens[0].cancel()
    #expect(source.registry.mask.load(ordering: .relaxed) == 0)
    source.send(2)
    let mine = unsafe ThreadRecord.current.pointee.bit
    #expect(source.registry.mask.load(ordering: .relaxed) == mine)
    withExtendedLifetime(tokens) {}
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

  @Test("Threads that live at once have records of their own", arguments: [1, 2, 8, 100])
  func identity(width: Int) {
    let ids = Recorder<UInt>()
    let gate = Gate()
    let waits = (0..<width).map { _ in
      onThread {
        ids.record(ThreadRecord.currentID)
        ids.record(ThreadRecord.currentID)
        gate.pass()
      }
    }
    gate.waitUntilReached(by: width)
    gate.open()
    for wait in waits { wait() }
    #expect(Set(ids.values).count == width)
    #expect(ids.count == width * 2)
    #expect(!ids.values.contains(0))
  }

  @Test("A thread is inside an observer from the first post to the end of the outermost")
  func inside() {
    let source = Broadcaster<Int>()
    let seen = Recorder<Bool>()
    let token = source.observe { [weak source] level in
      seen.record(ThreadRecord.isInsidePost)
      if level < 12 { source?.send(level + 1) }
      seen.record(ThreadRecord.isInsidePost)
    }
    onThread {
      seen.record(!ThreadRecord.isInsidePost)
      source.send(0)
      seen.record(!ThreadRecord.isInsidePost)
    }()
    #expect(seen.values == Array(repeating: true, count: 28))
    withExtendedLifetime(token) {}
  }

  @Test("K16 Inside an observer of one source the posts of another are not held up")
  func twoSources() {
    let life = LiveCount()
    let inner = Broadcaster<Int>()
    let outer = Broadcaster<Int>()
    let token = observe(inner, life) { _ in }
    let (ends, living) = (Recorder<Registration.Cancellation>(), Recorder<Int>())
    let outerToken = outer.observe { value in
      inner.send(value)
      ends.record(token.cancel())
      living.record(life.current)
    }
    outer.send(0)
    outer.send(1)
    withExtendedLifetime(outerToken) {}
    #expect(ends.values == [.ended, .alreadyEnded])
    #expect(living.values == [0, 0])
  }

  #if canImport(Glibc)
    @Test("K16 A thread that ends gives its record back, and a later thread posts with it")
    func reuse() async {
      // In a process of its own, whose only threads that post are these.
      await #expect(processExitsWith: .success) {
        let source = Broadcaster<Int>()
        let ids = Recorder<UInt>()
        let token = source.observe { _ in ids.record(ThreadRecord.currentID) }
        for index in 0..<2_000 { onEndedThreads { source.send(index) } }
        #expect(ids.count == 2_000)
        #expect(Set(ids.values).count == 1)
        #expect(token.cancel() == .ended)
      }
    }
  #endif
}
