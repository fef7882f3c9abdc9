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

  @Observable final class Closing {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    var value = 0
    deinit { value = 9 }
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
      var (last, closing): (Last?, Closing?) = (Last(), Closing())
      let tokens = [
        closing?.observe(\.value, options: [.old, .prior]) { _, _ in told += 1 },
        last?.observe(\.number, options: [.old, .prior]) { _, _ in told += 1 },
        last?.observe(\.items) { _, _ in told += 1 },
      ]
      func end() { (last, closing) = (nil, nil) }
      if isInTransaction { KVOTransaction.perform { end() } } else { end() }
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

  @Test("A transaction makes one prior call, and has the value before it, whatever that call sets")
  func onePriorInTransaction() {
    let root = Track()
    root.artist = Artist()
    var isFirst = true
    var priors = 0
    var olds: [Int?] = []
    let tokens = [
      root.observe(\.again, options: [.old, .prior]) { root, change in
        guard change.phase == .prior, isFirst else { return }
        isFirst = false
        root.artist?.name = 1
      },
      root.observe(\.both, options: .prior) { if $1.phase == .prior { priors += 1 } },
      root.observe(\.both, options: .old) { olds.append($1.old) },
    ]
    KVOTransaction.perform { root.title = 10 }
    #expect(priors == 1 && olds == [0])
    withExtendedLifetime(tokens) {}
  }
}
