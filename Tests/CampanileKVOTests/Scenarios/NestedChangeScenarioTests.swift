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
