#if DEBUG
  import Testing

  @testable import Campanile

  /// A canceller and posts that meet, each held at each of its steps, in every order.
  @Suite("Cancellers held at each step", .ownThread)
  struct EndInterleavingTests {
    /// The steps of `cancel()`; the first two are under the lock.
    enum EndStep: String, CaseIterable, Sendable {
      case willRemove, willScan, willReclaim

      var checkpoint: ObserverRegistry.Checkpoint {
        switch self {
        case .willRemove: .willRemove
        case .willScan: .willScan
        case .willReclaim: .willReclaim
        }
      }
    }

    enum Side: String, CaseIterable, Sendable { case post, canceller }

    /// Who comes first to its step, which step that is, and who goes on first.
    struct Ordering: Sendable, CustomTestStringConvertible {
      let post: PostStep
      let end: EndStep
      let first: Side
      let finishing: Side

      var testDescription: String {
        "posts at \(post), canceller at \(end), \(first) first, \(finishing) finishes first"
      }

      static let all = PostStep.allCases.flatMap { post in
        EndStep.allCases.flatMap { end in
          Side.allCases.flatMap { first in
            Side.allCases.map {
              Ordering(post: post, end: end, first: first, finishing: $0)
            }
          }
        }
      }

      /// Whether the victim had been checked when it was marked as ended.
      var isVictimCalled: Bool { first == .post && post.hasChecked }

      /// Whether the reservations are read while the posts stand in them.
      var isScanMet: Bool {
        if post == .left { return false }
        return end == .willReclaim ? first == .post : finishing == .canceller
      }
    }

    private func beginCancel(
      _ held: HeldSource, heldAt step: EndStep, _ result: Recorder<Registration.Cancellation>
    ) -> HeldThreads {
      let gate = held.gates.hold(at: step.checkpoint)
      let wait = onThread { result.record(held.victim.cancel()) }
      gate.waitUntilReached()
      return HeldThreads(gate: gate, waits: [wait])
    }

    @Test(
      "K3 K16 Whichever of a post and a canceller comes first, the call and the release agree",
      arguments: Ordering.all, widths)
    func meet(ordering: Ordering, width: Int) {
      let held = HeldSource()
      let result = Recorder<Registration.Cancellation>()
      let posts: HeldThreads
      let canceller: HeldThreads
      switch ordering.first {
      case .post:
        posts = held.beginPosts(width, heldAt: ordering.post)
        canceller = beginCancel(held, heldAt: ordering.end, result)
      case .canceller:
        canceller = beginCancel(held, heldAt: ordering.end, result)
        posts = held.beginPosts(width, heldAt: ordering.post)
      }
      switch ordering.finishing {
      case .post:
        // No lock is needed for a post, whatever the canceller holds.
        posts.finish()
        #expect(held.victimLife.current == 1)
        canceller.finish()
      case .canceller:
        canceller.finish()
        #expect(held.victimLife.current == (ordering.isScanMet ? 1 : 0))
        posts.finish()
      }
      #expect(result.values == [ordering.isScanMet ? .endedWhileMaybeRunning : .ended])
      #expect(held.count(of: "victim") == (ordering.isVictimCalled ? width : 0))
      #expect(held.count(of: "witness") == width)
      #expect(held.victimLife.current == 0)
    }

    @Test("K3 One of many cancellers ends the registration", arguments: EndStep.allCases, widths)
    func cancellers(step: EndStep, width: Int) {
      let held = HeldSource()
      let result = Recorder<Registration.Cancellation>()
      let first = beginCancel(held, heldAt: step, result)
      let others = (0..<width).map { _ in onThread { result.record(held.victim.cancel()) } }
      if step == .willReclaim {
        // The lock is free: the others need not wait for the first.
        for wait in others { wait() }
        #expect(result.values == Array(repeating: .alreadyEnded, count: width))
        first.finish()
      } else {
        first.finish()
        for wait in others { wait() }
      }
      #expect(result.values.count { $0 == .ended } == 1)
      #expect(result.values.count { $0 == .alreadyEnded } == width)
      #expect(held.victimLife.current == 0)
    }

    @Test(
      "K1 K3 Posts and changes go on while an ended closure is about to be released",
      arguments: widths)
    func addDuringRelease(width: Int) {
      let held = HeldSource()
      let result = Recorder<Registration.Cancellation>()
      let canceller = beginCancel(held, heldAt: .willReclaim, result)
      onThreads(width) { _ in
        let token = held.source.observe { [heard = held.heard] _ in heard.record("newcomer") }
        held.source.send(0)
        _ = token.cancelAndWait()
      }
      #expect(held.count(of: "newcomer") >= width)
      #expect(held.count(of: "victim") == 0)
      canceller.finish()
      #expect(held.victimLife.current == 0)
      #expect(held.list.count == 1)
    }

    @Test("K16 A post that leaves during a scan looks at what waits", arguments: widths)
    func leaveDuringScan(width: Int) {
      let held = HeldSource()
      let inCall = held.gates.hold(width, at: .observer)
      // Where a post that looks comes; one that does not comes there when it has returned.
      let looking = Gate()
      let waits = (0..<width).map { index in
        onThread {
          held.source.send(index)
          looking.pass()
        }
      }
      inCall.waitUntilReached(by: width)
      let scanned = held.gates.hold(at: .willShrink)
      let canceller = onThread { held.victim.cancel() }
      scanned.waitUntilReached()
      held.gates.hold(width, at: .engine(.willReclaim), gate: looking)
      inCall.open()
      looking.waitUntilReached(by: width)
      looking.open()
      scanned.open()
      canceller()
      for wait in waits { wait() }
      #expect(held.victimLife.current == 0)
    }

    @Test(
      "K16 A post that leaves last releases what waited, however many leave with it",
      arguments: [ObserverRegistry.Checkpoint.left, .willReclaim], widths)
    func leaveTogether(checkpoint: ObserverRegistry.Checkpoint, width: Int) {
      let held = HeldSource()
      let posts = held.beginPosts(width, heldAt: .inCall)
      held.victim.cancel()
      #expect(held.victimLife.current == 1)
      // All have cleared their reservations before the first of them looks at what waits.
      let gate = held.gates.hold(width, at: checkpoint)
      posts.gate.open()
      gate.waitUntilReached(by: width)
      #expect(held.victimLife.current == 1)
      gate.open()
      for wait in posts.waits { wait() }
      #expect(held.victimLife.current == 0)
    }
  }
#endif
