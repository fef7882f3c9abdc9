import Dispatch
import Testing

@testable import Campanile

#if canImport(Glibc)
  import Glibc
#endif

/// What posts in progress keep, and what that costs the posts after them.
@Suite("Tickets of posts in progress", .ownThread)
struct TicketTests {
  let source = Broadcaster<Int>()

  private static func observe(_ source: Broadcaster<Int>, _ life: LiveCount) -> ObservationToken {
    let tracked = Tracked(life)
    return source.observe { _ in tracked.touch() }
  }

  private static func limboCount(_ registry: ObserverRegistry) -> Int {
    registry.withState { $0.limbo.count }
  }

  @Test(
    "K16 While posts are held, ends inside other posts cost later posts nothing",
    arguments: [1, 2, 8])
  func endsBesideHeldPosts(width: Int) {
    /// How often a post came back to the lock, or a canceler released a closure.
    let reclaims = LiveCount()
    let source = Broadcaster<Int>(
      registry: ObserverRegistry(probe: { if $0 == .willReclaim { reclaims.increment() } }))
    let life = LiveCount()
    let inside = Gate()
    let victims = Slot<[ObservationToken]>()
    victims.set((0..<(width * 200)).map { _ in Self.observe(source, life) })
    let holder = source.observe { if $0 == -1 { inside.pass() } }
    let canceler = source.observe { number in
      if number > 0 { victims.value?[number - 1].cancel() }
    }
    var ended = 0
    var waits: [@Sendable () -> Void] = []
    for _ in 0..<width {
      waits.append(onThread { source.send(-1) })
      inside.waitUntilReached()
      for _ in 0..<200 {
        ended += 1
        source.send(ended)
      }
    }
    #expect(life.current == width * 200)
    // As many as there are rows of held posts that began one after the other.
    #expect(Self.limboCount(source.registry) <= width * (width + 1) / 2)
    let before = reclaims.current
    for _ in 0..<100 { source.send(0) }
    #expect(reclaims.current == before)
    inside.open()
    for wait in waits { wait() }
    #expect(life.current == 0)
    #expect(Self.limboCount(source.registry) == 0)
    withExtendedLifetime((holder, canceler)) {}
  }

  #if DEBUG
    @Test("K16 A post that cannot hold what has ended meanwhile leaves without the lock")
    func youngerEnds() {
      let reclaims = LiveCount()
      let source = Broadcaster<Int>(
        registry: ObserverRegistry(probe: { if $0 == .willReclaim { reclaims.increment() } }))
      let seen = Recorder<Int>()
      let token = source.observe { _ in
        source.observe { _ in }.cancel()
        seen.record(reclaims.current)
      }
      // The first makes room: what is cancelled next replaces nothing.
      for _ in 0..<3 { source.send(0) }
      #expect(reclaims.current == seen.values.last)
      withExtendedLifetime(token) {}
    }
  #endif

  @Test("K4 K16 A thread that posts again delays neither the wait nor the release")
  func postsAgain() {
    let (life, resumed) = (LiveCount(), LiveCount())
    let gates = (0..<3).map { _ in Gate() }
    let witness = source.observe { gates[$0].pass() }
    let victim = Self.observe(source, life)
    let first = onThread { [source] in
      source.send(0)
      source.send(2)
    }
    let second = onThread { [source] in source.send(1) }
    gates[0].waitUntilReached()
    gates[1].waitUntilReached()
    source.registry.end(victim.registration) { resumed.increment() }
    // The first thread leaves its post, and is in another one, in the same reservation.
    gates[0].open()
    gates[2].waitUntilReached()
    #expect(life.current == 1)
    #expect(resumed.current == 0)
    gates[1].open()
    second()
    #expect(life.current == 0)
    #expect(resumed.current == 1)
    gates[2].open()
    first()
    withExtendedLifetime(witness) {}
  }

  @Test(
    "K4 Who waits is resumed before what ended earlier is released, which may need what it holds")
  func waitersFirst() {
    let resumed = LiveCount()
    let seen = Recorder<Int>()
    let inside = Gate()
    let witness = source.observe { _ in inside.pass() }
    let observe = { [source, release = OnRelease { seen.record(resumed.current) }] in
      source.observe { _ in release.touch() }
    }
    var first: ObservationToken? = observe()
    let second = source.observe { _ in }
    let poster = onThread { [source] in source.send(0) }
    inside.waitUntilReached()
    first = nil
    source.registry.end(second.registration) { resumed.increment() }
    inside.open()
    poster()
    #expect(seen.values == [1])
    withExtendedLifetime((witness, first)) {}
  }

  @Test("K16 Of a thread's nested posts the outermost that may hold a closure keeps it")
  func nested() {
    let life = LiveCount()
    let victims = Slot<[ObservationToken]>()
    victims.set((0..<40).map { _ in Self.observe(source, life) })
    let seen = Recorder<[Int]>()
    let nesting = source.observe { [source] level in
      victims.value?[level].cancel()
      if level < 39 { source.send(level + 1) }
      seen.record(source.registry.withState { $0.limbo.map(\.tickets.count) })
    }
    source.send(0)
    // One limbo list for the closures, whichever of the nested posts has left, and one for each
    // memory that the list has moved from.
    #expect(seen.values.count == 40)
    #expect(seen.values.allSatisfy { $0.count <= 3 && Set($0) == [1] })
    #expect(life.current == 0)
    withExtendedLifetime(nesting) {}
  }

  @Test("K16 What was registered inside a post is released when the nested post has left")
  func registeredInside() {
    let life = LiveCount()
    let seen = Recorder<Int>()
    let outer = source.observe { [source] level in
      guard level == 0 else { return }
      let token = Slot<ObservationToken>()
      let observe = { [tracked = Tracked(life)] in
        source.observe { _ in
          tracked.touch()
          token.value?.cancel()
          seen.record(life.current)
        }
      }
      token.set(observe())
      source.send(1)
      token.set(nil)
      seen.record(life.current)
    }
    source.send(0)
    #expect(seen.values == [1, 0])
    withExtendedLifetime(outer) {}
  }

  @Test("A source's registry lives until its last ticket is given back")
  func selfReference() {
    weak var registry: ObserverRegistry?
    func begin() -> ObserverRegistry.CriticalSection {
      let source = Broadcaster<Int>()
      registry = source.registry
      let token = source.observe { _ in }
      let section = source.registry.enter()
      source.registry.narrow(section)
      token.cancel()
      return section
    }
    let section = begin()
    #expect(registry != nil)
    registry?.exit(section)
    #expect(registry == nil)
  }

  #if canImport(Glibc)
    /// What threads run that end inside an observer, and their observers.
    ///
    /// Such threads never release what they have retained. It is reachable from here, so that no leak is
    /// reported.
    private static let abandoned = Locked<[@Sendable () -> Void]>([])
    private static let abandonedTokens = Locked<[ObservationToken]>([])

    /// Runs `body` on a thread, which has ended when this returns.
    private static func runAbandoned(_ body: @escaping @Sendable () -> Void) {
      let number = abandoned.withLock {
        $0.append(body)
        return $0.count
      }
      var thread = pthread_t()
      let status = unsafe pthread_create(
        &thread, nil,
        { number in
          let index = Int(bitPattern: number) - 1
          TicketTests.abandoned.withLock { $0[index] }()
          return nil
        }, UnsafeMutableRawPointer(bitPattern: number))
      precondition(status == 0)
      pthread_join(thread, nil)
    }

    /// Registers an observer in which the thread ends that sends 1, nested `depth` deep.
    private static func observeAndEnd(
      _ source: Broadcaster<Int>, depth: Int, _ deepest: @escaping @Sendable () -> Void
    ) {
      let token = source.observe { [weak source] level in
        if level == 0 { return }
        if level < depth { source?.send(level + 1) }
        deepest()
        pthread_exit(nil)
      }
      abandonedTokens.withLock { $0.append(token) }
    }

    @Test(
      "K4 K16 A thread that ends inside an observer has left its posts",
      arguments: [1, 8, 9, 40], widths)
    func threadEnds(depth: Int, width: Int) {
      let (life, resumed) = (LiveCount(), LiveCount())
      let inside = Gate()
      Self.observeAndEnd(source, depth: depth) { inside.pass() }
      let victim = Self.observe(source, life)
      let threads = (0..<width).map { _ in
        onThread { [source] in Self.runAbandoned { source.send(1) } }
      }
      inside.waitUntilReached(by: width)
      source.registry.end(victim.registration) { resumed.increment() }
      #expect(life.current == 1)
      #expect(resumed.current == 0)
      inside.open()
      for thread in threads { thread() }
      #expect(life.current == 0)
      #expect(resumed.current == 1)
      #expect(Self.limboCount(source.registry) == 0)
    }

    @Test("K4 A thread that ends in nested posts lets those go on who wait for the inner one")
    func endsInNestedPosts() {
      let inner = Broadcaster<Int>()
      let inside = Gate()
      Self.observeAndEnd(inner, depth: 1) { inside.pass() }
      // The observer in which the thread ends stays: frames of the thread keep what it captured.
      let waitedFor = inner.observe { _ in }
      let isOver = Locked(false)
      let outer = source.observe { _ in inner.send(1) }
      // Released when the thread has left the outer post: it waits for somebody who waits for the
      // inner one.
      let returned = DispatchSemaphore(value: 0)
      let results = Recorder<DispatchTimeoutResult>()
      let victim = source.observe {
        [
          end = AtTheEnd {
            results.record(returned.wait(timeout: .now() + patience / .seconds(1)))
          }
        ] _ in
        end.touch()
      }
      let poster = onThread { [source] in Self.runAbandoned { source.send(1) } }
      inside.waitUntilReached()
      let waiter = onThread {
        _ = waitedFor.registration.cancelAndWait()
        isOver.withLock { $0 = true }
        returned.signal()
      }
      waitedFor.registration.waitUntilWaitedFor(or: { isOver.withLock { $0 } })
      victim.cancel()
      inside.open()
      poster()
      waiter()
      #expect(results.values == [.success])
      Self.abandonedTokens.withLock { $0.append(outer) }
    }

    /// Calls a closure when it is released.
    private final class AtTheEnd: Sendable {
      private let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
      deinit { body() }
      func touch() {}
    }

    private static let abandonedScopes = Locked<[LiveCount]>([])

    @Test("K7 A thread that takes over the record of one that ended in a scope is in no scope")
    func scopeTakenOver() {
      for _ in 0..<20 {
        let scope = LiveCount()
        Self.abandonedScopes.withLock { $0.append(scope) }
        Self.runAbandoned {
          let _: Void = CallingThread.within(scope) { pthread_exit(nil) }
        }
        let isOutside = Recorder<Bool>()
        // The record that was given back last is taken first.
        onThread { isOutside.record(CallingThread.scope == nil) }()
        #expect(isOutside.values == [true])
      }
    }

    @Test("K4 A thread that takes over the record of one that ended inside an observer waits")
    func recordTakenOver() async {
      // In a process of its own, whose only threads that post are these.
      await #expect(processExitsWith: .success) {
        let source = Broadcaster<Int>()
        let ids = Recorder<UInt>()
        TicketTests.observeAndEnd(source, depth: 9) { ids.record(CallingThread.id) }
        TicketTests.runAbandoned { source.send(1) }
        let held = Gate()
        let order = Recorder<String>()
        let observer = source.observe { _ in
          held.pass()
          order.record("left")
        }
        let takeOver = Gate()
        let waiting = onThread {
          onEndedThreads {
            ids.record(CallingThread.id)
            takeOver.pass()
            #expect(!ThreadRecord.isInsidePost)
            #expect(observer.cancelAndWait() == .finished)
            order.record("waited")
          }
        }
        takeOver.waitUntilReached()
        let poster = onThread { source.send(0) }
        held.waitUntilReached()
        takeOver.open()
        while order.count == 0, source.registry.withState({ $0.limbo.isEmpty }) { sched_yield() }
        held.open()
        waiting()
        poster()
        #expect(order.values == ["left", "waited"])
        #expect(Set(ids.values).count == 1)
        #expect(ids.count == 2)
      }
    }
  #endif
}
