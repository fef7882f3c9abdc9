import Campanile
import CampanileKVO
import Observation
import Testing

/// Changes that are made while another one is told, made or kept back.
@Suite("Nested changes: scenarios", .ownThread)
struct NestedChangeScenarioTests {
  let radio = Radio()

  @Test("A change that an observer takes back is two changes to those after it")
  func takenBack() {
    var second: [String] = []
    var distinct: [Int] = []
    let tokens = [
      radio.observe(\.volume) { radio, change in if change.new == 1 { radio.volume = 0 } },
      radio.observe(\.volume, options: .old) { _, change in
        second.append("\(change.old ?? -1) \(change.new)")
      },
      radio.observe(\.volume, options: .distinct) { _, change in distinct.append(change.new) },
    ]
    radio.volume = 1
    #expect(second == ["0 1", "1 0"])
    #expect(distinct == [1, 0])
    radio.volume = 2
    #expect(distinct == [1, 0, 2])
    withExtendedLifetime(tokens) {}
  }

  @Test("A path that grows in a transaction is told once, and followed to its end afterwards")
  func grownInTransaction() {
    var told: [String] = []
    let token = radio.observe(\.next?.next?.volume, options: .old) { _, change in
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
        last?.observe(\.number, options: [.old, .prior]) { _, _ in told += 1 },
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
    let outer = root.observe(\.again, options: [.old, .prior]) { root, change in
      guard change.phase == .prior, isFirst else { return }
      isFirst = false
      root.artist = zero
    }
    let once =
      kind & 2 == 2 ? root.observe(\.again, options: [.old, .distinct, .once]) { _, _ in } : nil
    let token = root.observe(
      \.both, options: [kind & 4 == 4 ? .old : [], kind & 8 == 8 ? .prior : [], .distinct]
    ) {
      if $1.phase == .changed { told.append($1.new) }
    }
    root.artist = nil
    #expect(told == [0])
    withExtendedLifetime((copy, outer, once, token)) {}
  }

  @Test("K14 Distinct tells a change that is read only after the changes inside it")
  func readAfterNested() {
    let root = Track()
    let artist = Artist()
    var told: [Int] = []
    let tokens = [
      root.observe(\.title, options: [.distinct, .once]) { root, _ in
        KVOTransaction.perform { root.artist = artist }
      },
      root.observe(\.both, options: [.distinct, .once]) { root, _ in
        KVOTransaction.perform {
          root.artist = artist
          root.notes = [0]
        }
      },
      root.observe(\.both, options: .distinct) { told.append($1.new) },
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
    paused = root.observe(\.title, options: .distinct) { told.append($1.new) }
    let tokens = [
      root.observe(\.title, options: .distinct) { _, _ in },
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
      root.observe(\.again, options: [.old, .prior]) { root, change in
        guard change.phase == .prior, isFirst else { return }
        isFirst = false
        root.artist?.name = 1
      },
      root.observe(\.both, options: .prior) { if $1.phase == .prior { priors += 1 } },
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
    let prior = root.observe(\.again, options: [.old, .prior]) { root, change in
      guard change.phase == .prior, isFirst else { return }
      isFirst = false
      root.artist?.name = 1
    }
    let token = root.observe(\.both, options: .old) { olds.append($1.old) }
    KVOTransaction.perform { root.title = 10 }
    #expect(olds == [0])
    withExtendedLifetime((prior, token)) {}
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
    let prior = hand.observe(\.one, options: [.old, .prior]) { hand, change in
      guard change.phase == .prior, isFirst else { return }
      isFirst = false
      hand.set(1)
    }
    let token = hand.observe(\.two, options: .distinct) { told.append($1.new) }
    hand.announceOther()
    #expect(told == [1])
    withExtendedLifetime((prior, token)) {}
  }
}
