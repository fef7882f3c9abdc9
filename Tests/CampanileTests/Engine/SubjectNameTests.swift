import TestSupport
import Testing

@testable import Campanile
@testable import CampanileFoundation

@Suite("How subjects are named", .eachKindOfSubject, .ownThread)
struct SubjectNameTests {
  /// Players that are made to come to an address that was freed.
  private struct Successors {
    private var players: [Player] = []

    /// Before the subject dies, so that nothing else takes its memory.
    init() { players.reserveCapacity(300) }

    /// A player at the address of one that has died, if that address is given out again.
    mutating func player(at address: ObjectIdentifier) -> Player? {
      for _ in 0..<300 {
        players.append(Player())
        if ObjectIdentifier(players[players.count - 1]) == address { return players.last }
      }
      return nil
    }
  }

  /// Checks that new objects came to the addresses of dead subjects where nothing reserves these.
  private func checkReuse(_ reused: LiveCount) {
    switch SubjectKind.current {
    case .native: #expect(reused.current == 0)
    case .foreign:
      // It depends on what other threads free at the same time.
      if reusesAddresses() && reused.current == 0 {
        Issue.record("No address was given out again, so this shows nothing.", severity: .warning)
      }
    }
  }

  @Test(
    "K9 A6 A new object is not taken for a dead subject at its address, in new tables neither",
    arguments: widths)
  func reuse(width: Int) {
    let center = MessageCenter()
    let (wrong, reused) = (LiveCount(), LiveCount())
    onThreads(width) { _ in
      let owner = Player()
      for round in 0..<Effort.times(40, long: 80) {
        var (successors, player) = (Successors(), Player?.some(Player()))
        let address = ObjectIdentifier(player!)
        // One stands in a table where it can, two in a list, and one in the group of a target.
        var tokens = (0...(round % 2)).map { _ in
          center.messages(of: LevelChanged.self, about: player!).observe { _ in wrong.increment() }
        }
        let target = ManualTarget()
        if round.isMultiple(of: 3) {
          tokens.append(
            center.messages(of: LevelChanged.self, about: player!).observe(on: target.delivery) {
              _ in
              wrong.increment()
            })
        }
        let owned = center.messages(of: LevelChanged.self, about: player!).observe(owner: owner) {
          _, _ in
          wrong.increment()
        }
        player = nil
        let successor = successors.player(at: address)
        // The tables are built anew, larger and smaller.
        let others = (0..<(round % 4 * 20)).map { _ in Player() }
        let otherTokens = others.map {
          center.messages(of: LevelChanged.self, about: $0).observe { _ in }
        }
        for token in otherTokens.dropFirst(5) { token.cancel() }
        guard let successor else { continue }
        reused.increment()
        center.post(LevelChanged(level: 1), about: successor)
        let heard = LiveCount()
        let own = center.messages(of: LevelChanged.self, about: successor).observe { _ in
          heard.increment()
        }
        center.post(LevelChanged(level: 2), about: successor)
        if heard.current != 1 { wrong.increment() }
        // What the owner has registered is about another subject.
        center.removeObservers(ownedBy: owner, of: LevelChanged.self, about: successor)
        if !owned.isActive { wrong.increment() }
        target.runJobs()
        withExtendedLifetime((tokens, otherTokens, own)) {}
      }
      center.removeObservers(ownedBy: owner)
    }
    #expect(wrong.current == 0)
    #expect(center.observerCount == 0)
    checkReuse(reused)
  }

  @Test("K9 The same for the observers of a key, and for those of any key", arguments: widths)
  func reuseInKeyedCenter(width: Int) {
    let center = KeyedCenter<Int>()
    let (wrong, reused) = (LiveCount(), LiveCount())
    onThreads(width) { _ in
      let owner = Player()
      for round in 0..<40 {
        let key = round.isMultiple(of: 2) ? nil : "key"
        func observe(_ player: Player?, _ observer: @escaping @Sendable (Int) -> Void)
          -> Registration
        {
          center.register(
            .init(owner: owner), ObserverBody(observer), of: key, about: .some(player))
        }
        var (successors, player) = (Successors(), Player?.some(Player()))
        let address = ObjectIdentifier(player!)
        let dead = observe(player) { _ in wrong.increment() }
        player = nil
        guard let successor = successors.player(at: address) else { continue }
        reused.increment()
        center.post(to: "key", about: successor) { 1 }
        center.keys.removeObservers(ownedBy: owner, about: successor)
        if !dead.isActive { wrong.increment() }
        let heard = LiveCount()
        let own = observe(successor) { _ in heard.increment() }
        center.post(to: "key", about: successor) { 2 }
        if heard.current != 1 { wrong.increment() }
        center.keys.removeObservers(ownedBy: owner, of: key, about: successor)
        if own.isActive || !dead.isActive { wrong.increment() }
        dead.cancel()
      }
    }
    #expect(wrong.current == 0)
    checkReuse(reused)
  }

  @Test("K9 A subject has one name, whoever asks first, and its own identity", arguments: widths)
  func oneName(width: Int) {
    for _ in 0..<50 {
      let player = Player()
      let words = Recorder<UInt>()
      onThreads(width) { _ in words.record(SubjectName(player).word) }
      #expect(Set(words.values).count == 1)
      #expect(SubjectName(known: player)?.word == words.values[0])
      #expect(SubjectName(player).id == ObjectIdentifier(player))
      #expect(SubjectName(player).isTagged == (SubjectKind.current == .foreign))
      withExtendedLifetime(player) {}
    }
  }

  @Test("K9 An identity is that of one instance, also when another one has its address")
  func identity() {
    let reused = LiveCount()
    for _ in 0..<40 {
      var (successors, player) = (Successors(), Player?.some(Player()))
      let address = ObjectIdentifier(player!)
      let identity = SubjectIdentity(player!)
      #expect(identity.isIdentity(of: player!))
      #expect(SubjectIdentity.key(of: player!) == SubjectIdentity.key(of: player!))
      player = nil
      guard let successor = successors.player(at: address) else { continue }
      reused.increment()
      #expect(!identity.isIdentity(of: successor))
      withExtendedLifetime(successor) {}
    }
    checkReuse(reused)
  }
}

/// A subject that does something when it ends.
private final class Speaker: Sendable {
  let lastAct: @Sendable (Speaker) -> Void
  #if DEBUG
    let attachment = SubjectKind.current == .foreign ? SubjectAttachment() : nil
  #endif

  init(_ lastAct: @escaping @Sendable (Speaker) -> Void) { self.lastAct = lastAct }
  deinit { lastAct(self) }
}

#if DEBUG
  extension Speaker: ForeignStandIn {}
#endif

private struct Spoke: MessageCenter.Message {
  typealias Subject = Speaker
  var word: Int
}

@Suite("The deinit of a subject", .eachKindOfSubject, .ownThread)
struct SubjectDeinitTests {
  @Test("K9 Observed in its deinit, a subject is heard of no more", arguments: widths)
  func observe(width: Int) {
    onThreads(width) { _ in
      let center = MessageCenter()
      let (heard, sources) = (Recorder<Int>(), Recorder<MessageCenter.Messages<Spoke>>())
      let tokens = TokenBag()
      for _ in 0..<100 {
        _ = Speaker { speaker in
          let source = center.messages(of: Spoke.self, about: speaker)
          source.observe { heard.record($0.word) }.store(in: tokens)
          sources.record(source)
          center.post(Spoke(word: 10), about: speaker)
        }
      }
      for source in sources.values { source.observe { heard.record($0.word) }.store(in: tokens) }
      for _ in 0..<100 { _ = Speaker { center.post(Spoke(word: 20), about: $0) } }
      #expect(heard.values.isEmpty)
      #expect(center.observerCount == 200)
      tokens.cancel()
      #expect(center.observerCount == 0)
    }
  }

  @Test(
    "K7 The deinit of a subject runs under no lock while tables are built anew", arguments: widths)
  func rebuild(width: Int) {
    let center = MessageCenter()
    let ended = LiveCount()
    onThreads(width + 1) { thread in
      if thread == 0 {
        // Nothing but tables that grow and shrink.
        let others = (0..<60).map { _ in Speaker { _ in } }
        for _ in 0..<40 {
          for token in others.map({ center.messages(of: Spoke.self, about: $0).observe { _ in } }) {
            token.cancel()
          }
        }
        return
      }
      for _ in 0..<200 {
        let token = Slot<ObservationToken>()
        let speaker = Speaker { speaker in
          center.post(Spoke(word: 1), about: speaker)
          center.messages(of: Spoke.self, about: speaker).observe { _ in }.cancel()
          token.value?.cancel()
          ended.increment()
        }
        token.set(center.messages(of: Spoke.self, about: speaker).observe { _ in })
      }
    }
    #expect(ended.current == width * 200)
    #expect(center.observerCount == 0)
  }

  #if DEBUG
    @Test("K7 A subject can die while another thread is about to build its table anew")
    func lastRelease() {
      let gates = CheckpointGates()
      let center = MessageCenter(label: "", registry: gates.makeRegistry())
      let (inside, dead) = (Gate(), LiveCount())
      let slot = Slot<Speaker>()
      slot.set(
        Speaker { speaker in
          inside.pass()
          // Both may wait for the lock, which the other thread has.
          center.post(Spoke(word: 1), about: speaker)
          center.messages(of: Spoke.self, about: speaker).observe { _ in }.cancel()
          dead.increment()
        })
      let others = (0..<40).map { _ in Speaker { _ in } }
      let token = center.messages(of: Spoke.self, about: slot.value!).observe { _ in }
      let tokens = Slot<[ObservationToken]>()
      tokens.set(others.map { center.messages(of: Spoke.self, about: $0).observe { _ in } })
      // Held with the lock; then the table is built anew for those that are left, several times.
      let gate = gates.hold(1, at: .engine(.willShrink))
      let canceler = onThread { tokens.set(nil) }
      gate.waitUntilReached(by: 1)
      let releaser = onThread { slot.set(nil) }
      inside.waitUntilReached()
      inside.open()
      gate.open()
      canceler()
      releaser()
      #expect(dead.current == 1)
      #expect(slot.value == nil)
      withExtendedLifetime((token, others)) {}
    }
  #endif
}
