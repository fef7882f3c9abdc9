#if DEBUG
  import Testing

  @testable import Campanile

  /// Posts held at each of their steps, on one, two and eight threads, while another thread changes
  /// the list.
  @Suite("Posts held at each step", .ownThread)
  struct PostInterleavingTests {
    @Test(
      "K1 K2 An observer added during a post hears it only if the watermark was not read yet",
      arguments: PostStep.allCases, widths)
    func add(step: PostStep, width: Int) {
      let held = HeldSource()
      // Room for one more, so that the newcomer comes into the memory that the post walks.
      held.addExtras(2)[0].cancel()
      let posts = held.beginPosts(width, heldAt: step)
      let buffer = held.list.entries
      let newcomer = held.source.observe { [heard = held.heard] _ in heard.record("newcomer") }
      #expect(held.list.entries?.address == buffer?.address)
      posts.finish()
      let early = held.count(of: "newcomer")
      #expect(early == (step == .announced ? width : 0))

      held.source.send(0)
      #expect(held.count(of: "newcomer") == early + 1)
      #expect(held.count(of: "victim") == width + 1)
      #expect(held.count(of: "witness") == width + 1)
      newcomer.cancel()
    }

    @Test(
      "K2 A list that grows into new memory during a post keeps the post's observers and its end",
      arguments: PostStep.allCases, widths)
    func grow(step: PostStep, width: Int) {
      let held = HeldSource()
      let posts = held.beginPosts(width, heldAt: step)
      let newcomers = (0..<100).map { index in
        held.source.observe { [heard = held.heard] _ in heard.record("\(index)") }
      }
      #expect(held.list.entries!.capacity >= 102)
      posts.finish()
      #expect(held.count(of: "victim") == width)
      #expect(held.count(of: "witness") == width)
      #expect(held.heard.count == (step == .announced ? width * 102 : width * 2))

      let early = held.heard.count
      held.source.send(0)
      let expected = ["victim", "witness"] + (0..<100).map { "\($0)" }
      #expect(Array(held.heard.values[early...]) == expected)
      withExtendedLifetime(newcomers) {}
    }

    @Test(
      "K3 K16 An observer cancelled before its check is not called, and its closure outlives the post",
      arguments: PostStep.allCases, widths)
    func cancel(step: PostStep, width: Int) {
      let held = HeldSource()
      let posts = held.beginPosts(width, heldAt: step)
      let cancellation = held.victim.cancel()
      #expect(cancellation == (step == .left ? .ended : .endedWhileMaybeRunning))
      #expect(held.victim.cancel() == .alreadyEnded)
      #expect(held.victimLife.current == (step == .left ? 0 : 1))
      posts.finish()
      #expect(held.victimLife.current == 0)
      #expect(held.count(of: "victim") == (step.hasChecked ? width : 0))
      #expect(held.count(of: "witness") == width)

      held.source.send(0)
      #expect(held.count(of: "victim") == (step.hasChecked ? width : 0))
      #expect(held.count(of: "witness") == width + 1)
    }

    @Test(
      "K3 An observer cancelled after the list was compacted is not called from the old memory",
      arguments: PostStep.allCases, widths)
    func compactAndCancel(step: PostStep, width: Int) {
      let held = HeldSource()
      let extras = held.addExtras(64)
      let posts = held.beginPosts(width, heldAt: step)
      let old = held.list.entries
      let created = old?.created
      for extra in extras { extra.cancel() }
      // Not the address, which memory that was freed meanwhile may have had.
      #expect(held.list.entries?.created != created)
      #expect(!held.source.registry.keeps(old) == (step == .left))
      held.victim.cancel()
      posts.finish()
      #expect(!held.source.registry.keeps(old))
      #expect(held.victimLife.current == 0)
      #expect(held.count(of: "victim") == (step.hasChecked ? width : 0))
      #expect(held.count(of: "witness") == width)
      #expect(held.count(of: "extra") == (step == .left ? width * 64 : 0))
    }

    @Test(
      "K2 K5 Observers that survive a compaction during a post are called once, in order",
      arguments: PostStep.allCases, widths)
    func compact(step: PostStep, width: Int) {
      let held = HeldSource()
      let extras = held.addExtras(64)
      let last = held.source.observe { [heard = held.heard] _ in heard.record("last") }
      let posts = held.beginPosts(width, heldAt: step)
      let old = held.list.entries
      let created = old?.created
      for extra in extras { extra.cancel() }
      // Not the address, which memory that was freed meanwhile may have had.
      #expect(held.list.entries?.created != created)
      posts.finish()
      #expect(!held.source.registry.keeps(old))
      for name in ["victim", "witness", "last"] { #expect(held.count(of: name) == width) }
      let early = held.heard.count
      held.source.send(0)
      #expect(Array(held.heard.values[early...]) == ["victim", "witness", "last"])
      #expect(held.victimLife.current == 1)
      last.cancel()
    }

    @Test(
      "K16 Memory that was made between a post's watermark and its look is kept for the post",
      arguments: widths)
    func grownAfterWatermark(width: Int) {
      let held = HeldSource()
      let posts = held.beginPosts(width, heldAt: .watermarked)
      let extras = held.addExtras(16)
      let found = held.list.entries
      let located = held.gates.hold(width, at: .located)
      posts.gate.open()
      located.waitUntilReached(by: width)
      let others = held.addExtras(64)
      #expect(held.list.entries?.address != found?.address)
      #expect(held.source.registry.keeps(found))
      located.open()
      for wait in posts.waits { wait() }
      #expect(!held.source.registry.keeps(found))
      #expect(held.count(of: "witness") == width)
      #expect(held.count(of: "extra") == 0)
      withExtendedLifetime((extras, others)) {}
    }

    @Test(
      "K2 K16 A post with a narrowed reservation has found its targets", arguments: [1, 2, 3],
      widths)
    func targetsAfterNarrowing(count: Int, width: Int) {
      let gates = CheckpointGates()
      let source = Broadcaster<Int>(registry: gates.makeRegistry())
      let targets = (0..<count).map { _ in ManualTarget() }
      let tokens = targets.map { source.observe(on: .target($0)) { _ in } }
      let located = gates.hold(width, at: .located)
      let waits = (0..<width).map { index in onThread { source.send(index) } }
      located.waitUntilReached(by: width)
      let late = ManualTarget()
      let token = source.observe(on: .target(late)) { _ in }
      located.open()
      for wait in waits { wait() }
      #expect(targets.allSatisfy { $0.enqueuedCount == 1 })
      #expect(late.enqueuedCount == 0)
      for target in targets { target.runJobs() }
      withExtendedLifetime((tokens, token)) {}
    }

    @Test(
      "K4 K16 Posts that begin later delay neither the wait nor the release of the closure",
      arguments: PostStep.allCases.filter { $0 != .left }, widths)
    func laterPosts(step: PostStep, width: Int) {
      let held = HeldSource()
      let posts = held.beginPosts(width, heldAt: step)
      let resumed = LiveCount()
      held.cancelVictim { resumed.increment() }
      let later = held.beginPosts(width, heldAt: .inCall)
      #expect(resumed.current == 0)
      #expect(held.victimLife.current == 1)
      posts.finish()
      #expect(resumed.current == 1)
      #expect(held.victimLife.current == 0)
      later.finish()
      #expect(held.count(of: "witness") == width * 2)
    }

    @Test("K16 What ends during a later post is kept by it, though one that is leaving reclaims")
    func leavingBeforeLater() {
      let held = HeldSource()
      let life = LiveCount()
      let second = held.source.observe { [tracked = Tracked(life)] _ in tracked.touch() }
      let early = held.beginPosts(1, heldAt: .inCall)
      held.victim.cancel()
      // The first post has cleared its reservation, and not looked at what waits for it.
      let leaving = held.gates.hold(at: .left)
      // It comes to the witness too, who is not held again.
      early.gate.open()
      leaving.waitUntilReached()
      let later = held.beginPosts(1, heldAt: .inCall)
      second.cancel()
      leaving.open()
      for wait in early.waits { wait() }
      #expect(held.victimLife.current == 0)
      #expect(life.current == 1)
      later.finish()
      #expect(life.current == 0)
    }

    @Test(
      "K16 The groups that a post has found are kept for it, and those that came later are not",
      arguments: widths)
    func groups(width: Int) {
      let gates = CheckpointGates()
      let source = Broadcaster<Int>(registry: gates.makeRegistry())
      let queues = [TestQueue("one"), TestQueue("two")]
      let first = source.observe(on: queues[0].delivery) { _ in }
      weak let found = source.list.currentGroups
      let gate = gates.hold(width, at: .located)
      let waits = (0..<width).map { index in onThread { source.send(index) } }
      gate.waitUntilReached(by: width)
      let second = source.observe(on: queues[1].delivery) { _ in }
      weak let both = source.list.currentGroups
      #expect(both !== found && found != nil)
      first.cancel()
      weak let last = source.list.currentGroups
      #expect(both == nil && last != nil)
      second.cancel()
      #expect(last == nil && found != nil)
      gate.open()
      for wait in waits { wait() }
      for queue in queues { queue.flush() }
      #expect(found == nil)
    }

    @Test(
      "K12 What comes to a bounded observer as it ends is not counted as dropped", arguments: widths
    )
    func boundedEnds(width: Int) {
      let gates = CheckpointGates()
      let source = Broadcaster<Int>(registry: gates.makeRegistry())
      let queue = TestQueue()
      let heard = Recorder<Int>()
      let token = source.observe(on: queue.delivery.buffered(.newest(1))) { heard.record($0) }
      // Checked already, and not yet on their way to the queue.
      let gate = gates.hold(width, at: .willCall)
      let waits = (0..<width).map { index in onThread { source.send(index) } }
      gate.waitUntilReached(by: width)
      token.cancel()
      gate.open()
      for wait in waits { wait() }
      queue.flush()
      #expect(heard.values == [])
      #expect(token.registration.droppedCount == 0)
    }

    @Test(
      "K4 K16 A post that cannot reach a registration delays neither its wait nor its release",
      arguments: PostStep.allCases.filter(\.isSettled), widths)
    func olderPosts(step: PostStep, width: Int) {
      let held = HeldSource()
      let posts = held.beginPosts(width, heldAt: step)
      let life = LiveCount()
      let newcomer = held.source.observe { [tracked = Tracked(life)] _ in tracked.touch() }
      #expect(newcomer.cancel() == .ended)
      #expect(life.current == 0)
      #expect(newcomer.cancelAndWait() == .finished)
      posts.finish()
    }
  }

  extension HeldSource {
    /// Ends the victim as `cancelAndWait()` does, and calls `resume` instead of blocking.
    func cancelVictim(_ resume: @escaping @Sendable () -> Void) {
      registry.end(victim.registration, whenLeft: resume)
    }

    /// Adds observers after the witness.
    func addExtras(_ count: Int) -> [ObservationToken] {
      (0..<count).map { _ in source.observe { [heard] _ in heard.record("extra") } }
    }
  }
#endif
