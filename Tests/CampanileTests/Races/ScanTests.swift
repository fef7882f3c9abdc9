#if DEBUG
  import Dispatch
  import Testing

  @testable import Campanile

  /// A post that announces itself while a canceller is between two looks at the reservations.
  @Suite("Between two looks at the reservations", .ownThread)
  struct ScanTests {
    let gates = CheckpointGates()
    let inside = Gate()

    @Test("K3 K4 K16 A post in progress is seen by every end, not by the first alone")
    func seenByEach() {
      let source = Broadcaster<Int>()
      let life = LiveCount()
      let first = source.observe { [inside] _ in inside.pass() }
      let others = (0..<3).map { _ in Self.observe(source, life) }
      let poster = onThread { source.send(1) }
      inside.waitUntilReached()
      for other in others { #expect(other.cancel() == .endedWhileMaybeRunning) }
      #expect(life.current == 3)
      inside.open()
      poster()
      #expect(life.current == 0)
      withExtendedLifetime(first) {}
    }

    @Test("K16 A post that began after the reservations were read keeps the memory it walks")
    func shrunk() {
      let source = Broadcaster<Int>(registry: gates.makeRegistry())
      let first = source.observe { [inside] in if $0 == 1 { inside.pass() } }
      var others = (0..<64).map { _ in source.observe { _ in } }
      let last = source.observe { _ in }
      // One more removal and the buffer is a quarter full.
      let buffer = source.list.entries
      let capacity = source.list.entries?.capacity ?? 0
      while (source.list.count - 1) * 4 >= capacity { others.removeFirst() }
      #expect(buffer?.address == source.list.entries?.address)
      let shrinking = gates.hold(at: .willShrink)
      let token = others.removeFirst()
      let canceller = onThread { token.cancel() }
      shrinking.waitUntilReached()
      let poster = onThread { source.send(1) }
      inside.waitUntilReached()
      shrinking.open()
      canceller()
      #expect(buffer?.address != source.list.entries?.address)
      #expect(source.registry.keeps(buffer))
      inside.open()
      poster()
      #expect(!source.registry.keeps(buffer))
      withExtendedLifetime((first, others, last, token)) {}
    }

    @Test("K16 A post that finds a target's observers after others have run keeps their memory")
    func widened() {
      let source = Broadcaster<Int>(registry: gates.makeRegistry())
      let finding = Gate()
      let queue = DispatchQueue(label: "inline")
      let added = Locked<[ObservationToken]>([])
      // Called on the spot: after it, the group of the queue has other memory.
      let first = source.observe { [weak source, gates] _ in
        for _ in 0..<32 {
          let token = source?.observe(on: .queue(queue)) { _ in }
          added.withLock { if let token { $0.append(token) } }
        }
        gates.hold(at: .engine(.found), gate: finding)
      }
      let second = source.observe(on: .queue(queue)) { _ in }
      let group = source.list.currentGroups?.groups[0].list
      let poster = onThread { queue.sync { source.send(0) } }
      finding.waitUntilReached()
      let buffer = group?.entries
      #expect(buffer?.capacity ?? 0 > 32)
      for token in added.withLock({ $0 }) { token.cancel() }
      #expect(group?.entries?.address != buffer?.address)
      #expect(source.registry.keeps(buffer))
      finding.open()
      poster()
      #expect(!source.registry.keeps(buffer))
      added.withLock { $0 = [] }
      withExtendedLifetime((first, second)) {}
    }

    @Test("K16 A post that began in memory that a removal had made keeps it when it is replaced")
    func replacedTwice() {
      let source = Broadcaster<Int>()
      let first = source.observe { [inside] in if $0 == 1 { inside.pass() } }
      var others = (0..<256).map { _ in source.observe { _ in } }
      let original = source.list.entries
      while source.list.entries?.address == original?.address { others.removeFirst() }
      #expect(!source.registry.keeps(original))
      let buffer = source.list.entries
      let poster = onThread { source.send(1) }
      inside.waitUntilReached()
      while source.list.entries?.address == buffer?.address { others.removeFirst() }
      #expect(source.registry.keeps(buffer))
      inside.open()
      poster()
      #expect(!source.registry.keeps(buffer))
      withExtendedLifetime((first, others)) {}
    }

    @Test("K2 The place of an observer that a post may be reading is not given to another")
    func placeInUse() {
      let source = Broadcaster<Int>()
      let first = source.observe { [inside] in if $0 == 1 { inside.pass() } }
      let second = source.observe { _ in }
      // Makes room for more, so that the list stays where it is.
      source.observe { _ in }.cancel()
      let poster = onThread { source.send(1) }
      inside.waitUntilReached()
      #expect(second.cancel() == .endedWhileMaybeRunning)
      #expect(source.list.entries?.count == 2)
      let third = source.observe { _ in }
      #expect(source.list.entries?.index(of: third.registration.id) == 2)
      // The post in progress cannot reach the third: its place is free at once.
      #expect(third.cancel() == .ended)
      #expect(source.list.entries?.count == 2)
      inside.open()
      poster()
      let fourth = source.observe { _ in }
      fourth.cancel()
      #expect(source.list.entries?.count == 1)
      withExtendedLifetime(first) {}
    }

    private static func observe(_ source: Broadcaster<Int>, _ life: LiveCount) -> ObservationToken {
      let tracked = Tracked(life)
      return source.observe { _ in tracked.touch() }
    }
  }
#endif
