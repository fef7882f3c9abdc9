import Campanile
import CampanileKVO
import Observation
import Testing

/// Changes that are made while another one is told, made or kept back.
@Suite("Nested changes: scenarios")
struct NestedChangeScenarioTests {
  let radio = Radio()

  @Test("A change that an observer takes back is told to those after it, and is none for distinct")
  func takenBack() {
    var second: [String] = []
    var distinct: [Int] = []
    let tokens = [
      radio.observe(\.volume) { radio, change in if change.new == 1 { radio.volume = 0 } },
      radio.observe(\.volume, .old) { _, change in
        second.append("\(change.old ?? -1) \(change.new)")
      },
      radio.observe(\.volume, .distinct) { _, change in distinct.append(change.new) },
    ]
    radio.volume = 1
    #expect(second == ["1 0", "0 0"])
    #expect(distinct.isEmpty)
    radio.volume = 2
    #expect(distinct == [2])
    withExtendedLifetime(tokens) {}
  }

  @Test("A prior call that takes the object off the path leaves the observer with what there is")
  func detachedInPrior() {
    radio.next = Radio()
    weak let detached = radio.next
    var isFirst = true
    var told: [String] = []
    let token = radio.observe(\.next?.volume, .prior) { radio, change in
      told.append("\(change.phase) \(change.new ?? -1)")
      guard isFirst else { return }
      isFirst = false
      radio.next = nil
    }
    radio.next?.volume = 1
    #expect(detached == nil)
    #expect(told == ["prior 0", "prior 0", "changed -1"])
    radio.next = Radio()
    #expect(told.suffix(2) == ["prior -1", "changed 0"])
    withExtendedLifetime(token) {}
  }

  @Test("A path that grows in a transaction is told once, and followed to its end afterwards")
  func grownInTransaction() {
    var told: [String] = []
    let token = radio.observe(\.next?.next?.volume, .old) { _, change in
      told.append("\(change.old.flatMap { $0 } ?? -1) \(change.new ?? -1)")
    }
    KVOTransaction.perform {
      let next = Radio()
      radio.next = next
      next.next = Radio()
      next.next?.volume = 3
    }
    #expect(told == ["-1 3"])
    radio.next?.next?.volume = 4
    #expect(told == ["-1 3", "3 4"])
    withExtendedLifetime(token) {}
  }

  @Test("K8 What an object changes in its own deinit is told to nobody, in a transaction or not")
  func changesInDeinit() {
    final class Last: Observable {
      @Observed var number = 0
      @Observed var items: [Int] = []
      deinit {
        number = 1
        items.append(1)
        KVOTransaction.perform {
          number = 2
          items = []
        }
      }
    }
    var told = 0
    for isInTransaction in [false, true] {
      var last: Last? = Last()
      let tokens = [
        last?.observe(\.number, [.old, .prior]) { _, _ in told += 1 },
        last?.observe(\.items) { _, _ in told += 1 },
      ]
      if isInTransaction { KVOTransaction.perform { last = nil } } else { last = nil }
      #expect(tokens.allSatisfy { $0?.isActive == false })
    }
    #expect(told == 0)
  }

  // MARK: Several key paths

  @Observable final class Track {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    var title = 0
    var artist: Artist?
    var notes: [Int] = []
    var picked: [Int] { artist?.track?.notes ?? notes }
    var both: Int { title + (artist?.name ?? 0) }
    var again: Int { both + title }
  }

  final class Artist: Observable {
    @Observed var name = 0
    @Observed var track: Track?
  }

  @Test("K14 Distinct tells what the prior call of another path has set", arguments: 0..<16)
  func setInPriorOfAnotherPath(kind: Int) {
    let root = Track()
    let (zero, one) = (Artist(), Artist())
    let copy = kind & 1 == 1 ? root.observe(\.picked) { _, _ in } : nil
    root.artist = one
    one.name = 1
    var told: [Int] = []
    var isFirst = true
    let outer = root.observe(\.again, [.old, .prior]) { root, change in
      guard change.phase == .prior, isFirst else { return }
      isFirst = false
      root.artist = zero
    }
    let once = kind & 2 == 2 ? root.observe(\.again, [.old, .distinct, .once]) { _, _ in } : nil
    let token = root.observe(
      \.both, [kind & 4 == 4 ? .old : [], kind & 8 == 8 ? .prior : [], .distinct]
    ) {
      if $1.phase == .changed { told.append($1.new) }
    }
    root.artist = nil
    #expect(told == [0])
    withExtendedLifetime((copy, outer, once, token)) {}
  }

  @Test("K14 Distinct compares with what the observer knows, not with what another one was told")
  func toldToAnother() {
    let root = Track()
    var told: [Int] = []
    var calls = 0
    let tokens = [
      root.observe(\.both, [.distinct, .once]) { root, _ in root.title = 0 },
      root.observe(\.both) { root, _ in
        calls += 1
        if calls == 2 { root.title = 1 }
      },
      root.observe(\.both, .distinct) { told.append($1.new) },
    ]
    root.title = 1
    #expect(root.both == 1)
    #expect(told == [1])
    withExtendedLifetime(tokens) {}
  }

  @Test("K14 Distinct tells a change that is read only after the changes inside it")
  func readAfterNested() {
    let root = Track()
    let artist = Artist()
    var told: [Int] = []
    let tokens = [
      root.observe(\.title, [.distinct, .once]) { root, _ in
        KVOTransaction.perform { root.artist = artist }
      },
      root.observe(\.both, [.distinct, .once]) { root, _ in
        KVOTransaction.perform {
          root.artist = artist
          root.notes = [0]
        }
      },
      root.observe(\.both, .distinct) { told.append($1.new) },
      root.observe(\.notes) { _, _ in },
    ]
    // A change that nobody is told.
    root.title += 0
    root.title = 1
    #expect(told == [1])
    withExtendedLifetime(tokens) {}
  }

  @Test("K14 Distinct tells one that was paused what differs from the value before the change")
  func resumedInNested() {
    let root = Track()
    var told: [Int] = []
    var paused: ObservationToken?
    paused = root.observe(\.title, .distinct) { told.append($1.new) }
    let tokens = [
      root.observe(\.title, .distinct) { _, _ in },
      root.observe(\.title) { root, change in
        guard change.new == 3 else { return }
        paused?.resume()
        root.title = 2
      },
    ]
    root.title = 1
    paused?.pause()
    root.title = 2
    root.title = 3
    #expect(told == [1, 2])
    withExtendedLifetime((paused, tokens)) {}
  }

  @Test("A transaction makes one prior call, whatever the prior call of another path sets")
  func onePriorInTransaction() {
    let root = Track()
    root.artist = Artist()
    var isFirst = true
    var priors = 0
    let tokens = [
      root.observe(\.again, [.old, .prior]) { root, change in
        guard change.phase == .prior, isFirst else { return }
        isFirst = false
        root.artist?.name = 1
      },
      root.observe(\.both, .prior) { if $1.phase == .prior { priors += 1 } },
    ]
    KVOTransaction.perform { root.title = 10 }
    #expect(priors == 1)
    withExtendedLifetime(tokens) {}
  }

  @Test("The old value of a transaction is the one before it, whatever a prior call sets")
  func oldInTransaction() {
    let root = Track()
    root.artist = Artist()
    var isFirst = true
    var olds: [Int?] = []
    let prior = root.observe(\.again, [.old, .prior]) { root, change in
      guard change.phase == .prior, isFirst else { return }
      isFirst = false
      root.artist?.name = 1
    }
    let token = root.observe(\.both, .old) { olds.append($1.old) }
    KVOTransaction.perform { root.title = 10 }
    #expect(olds == [0])
    withExtendedLifetime((prior, token)) {}
  }

  @Test("An observer that joins another path in a prior call is told the next change")
  func joinedInPriorOfAnotherPath() {
    let root = Track()
    var phases: [KVOChange<Int>.Phase] = []
    var late: ObservationToken?
    let prior = root.observe(\.again, [.old, .prior]) { root, change in
      guard change.phase == .prior, late == nil else { return }
      late = root.observe(\.title, [.old, .prior]) { phases.append($1.phase) }
    }
    let token = root.observe(\.title, .old) { _, _ in }
    root.title = 1
    #expect(phases.isEmpty)
    root.title = 2
    #expect(phases == [.prior, .changed])
    withExtendedLifetime((prior, late, token)) {}
  }

  @Observable final class Hand {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    @ObservationIgnored private var stored = 0
    var level: Int {
      _$observationRegistrar.access(self, keyPath: \.level)
      return stored
    }
    var other = 0
    var one: Int { other + level }
    var two: Int { level * (other + 1) }

    func set(_ value: Int) {
      _$observationRegistrar.willChange(self, keyPath: \.level)
      stored = value
      _$observationRegistrar.didChange(self, keyPath: \.level)
    }

    func announceOther() {
      _$observationRegistrar.willChange(self, keyPath: \.other)
      _$observationRegistrar.didChange(self, keyPath: \.other)
    }
  }

  @Test("K14 Distinct tells what the prior call of another path announces by hand")
  func announcedInPriorOfAnotherPath() {
    let hand = Hand()
    var told: [Int] = []
    var isFirst = true
    let prior = hand.observe(\.one, [.old, .prior]) { hand, change in
      guard change.phase == .prior, isFirst else { return }
      isFirst = false
      hand.set(1)
    }
    let token = hand.observe(\.two, .distinct) { told.append($1.new) }
    hand.announceOther()
    #expect(told == [1])
    withExtendedLifetime((prior, token)) {}
  }
}
