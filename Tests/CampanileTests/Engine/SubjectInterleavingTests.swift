#if DEBUG
  import Testing

  @testable import Campanile

  /// Posts about a subject with one observer, held at each of their steps, while another thread
  /// changes what stands about it.
  @Suite("Posts about a subject held at each step", .eachKindOfSubject, .ownThread)
  struct SubjectInterleavingTests {
    /// A center with one observer, the *victim*, who stands alone with its subject.
    final class HeldSubject: Sendable {
      let gates: CheckpointGates
      let center: MessageCenter
      let player = Player()
      let heard = Recorder<String>()
      let victimLife = LiveCount()
      let victim: ObservationToken

      init() {
        let gates = CheckpointGates()
        let center = MessageCenter(label: "", registry: gates.makeRegistry())
        let tracked = Tracked(victimLife)
        victim = center.messages(of: LevelChanged.self, about: player).observe { [heard] _ in
          tracked.touch()
          heard.record("victim")
          gates.reach(.observer)
        }
        self.gates = gates
        self.center = center
      }

      func observe(_ name: String, about player: Player) -> ObservationToken {
        center.messages(of: LevelChanged.self, about: player).observe { [heard] _ in
          heard.record(name)
        }
      }

      func post() { center.post(LevelChanged(level: 0), about: player) }

      /// Begins a post on each of `width` threads, and returns when all are held at `step`.
      func beginPosts(_ width: Int, heldAt step: PostStep) -> HeldThreads {
        let gate = gates.hold(width, at: step.place)
        let waits = (0..<width).map { _ in onThread { self.post() } }
        gate.waitUntilReached(by: width)
        return HeldThreads(gate: gate, waits: waits)
      }

      func count(of name: String) -> Int { heard.values.count { $0 == name } }
    }

    @Test(
      "K1 K2 One who joins during a post hears the next one",
      arguments: PostStep.allCases, widths)
    func join(step: PostStep, width: Int) {
      let held = HeldSubject()
      let posts = held.beginPosts(width, heldAt: step)
      let newcomer = held.observe("newcomer", about: held.player)
      posts.finish()
      #expect(held.count(of: "victim") == width)
      #expect(held.count(of: "newcomer") == 0)
      held.post()
      #expect(held.heard.values.suffix(2) == ["victim", "newcomer"])
      withExtendedLifetime(newcomer) {}
    }

    @Test(
      "K2 The first observer of a subject does not hear a post in progress",
      arguments: [PostStep.announced, .watermarked, .found], widths)
    func first(step: PostStep, width: Int) {
      let held = HeldSubject()
      let other = Player()
      let gate = held.gates.hold(width, at: step.place)
      let posts = (0..<width).map { _ in
        onThread { held.center.post(LevelChanged(level: 0), about: other) }
      }
      gate.waitUntilReached(by: width)
      let newcomer = held.observe("newcomer", about: other)
      HeldThreads(gate: gate, waits: posts).finish()
      #expect(held.heard.count == 0)
      withExtendedLifetime(newcomer) {}
    }

    /// Cancels the victim while posts are held at `step`, and looks whether it is called and kept.
    private func cancelVictim(
      of held: HeldSubject, during posts: HeldThreads, _ step: PostStep, _ width: Int
    ) {
      held.victim.cancel()
      #expect(held.victimLife.current == (step == .left ? 0 : 1))
      posts.finish()
      #expect(held.victimLife.current == 0)
      let callCount = step.hasChecked ? width : 0
      #expect(held.count(of: "victim") == callCount)
      held.post()
      #expect(held.count(of: "victim") == callCount)
    }

    @Test(
      "K3 K16 The same after another joined, during the post, and the table was built anew",
      arguments: PostStep.allCases, widths)
    func joinAndCancel(step: PostStep, width: Int) {
      let held = HeldSubject()
      let posts = held.beginPosts(width, heldAt: step)
      let newcomer = held.observe("newcomer", about: held.player)
      let others = (0..<100).map { _ in Player() }
      let tokens = others.map { held.observe("other", about: $0) }
      cancelVictim(of: held, during: posts, step, width)
      #expect(held.count(of: "other") == 0)
      // The post that came last reached the newcomer alone.
      #expect(held.heard.values.last == "newcomer")
      withExtendedLifetime((newcomer, tokens)) {}
    }

    @Test(
      "K2 K16 A table that grows and shrinks during a post keeps the post's observer, and goes with it",
      arguments: PostStep.allCases, widths)
    func rebuild(step: PostStep, width: Int) {
      let held = HeldSubject()
      let posts = held.beginPosts(width, heldAt: step)
      let others = (0..<200).map { _ in Player() }
      let tokens = others.map { held.observe("other", about: $0) }
      for token in tokens { token.cancel() }
      posts.finish()
      #expect(held.count(of: "victim") == width)
      held.post()
      #expect(held.heard.count == width + 1)
      #expect(held.victimLife.current == 1)
      held.victim.cancel()
      #expect(held.victimLife.current == 0)
    }

    @Test(
      "K2 K9 A post does not hear of another subject that comes to the place it found",
      arguments: PostStep.allCases, widths)
    func place(step: PostStep, width: Int) {
      let held = HeldSubject()
      let posts = held.beginPosts(width, heldAt: step)
      held.victim.cancel()
      // Of so many subjects some would come to the place that the victim left.
      let others = (0..<50).map { _ in Player() }
      for _ in 0..<4 {
        let tokens = others.map { held.observe("other", about: $0) }
        withExtendedLifetime(tokens) {}
      }
      let tokens = others.map { held.observe("other", about: $0) }
      posts.finish()
      #expect(held.count(of: "other") == 0)
      for player in others { held.center.post(LevelChanged(level: 0), about: player) }
      #expect(held.count(of: "other") == 50)
      withExtendedLifetime(tokens) {}
    }
  }
#endif
